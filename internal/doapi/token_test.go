package doapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
)

func TestNewTokenChecksShape(t *testing.T) {
	tests := map[string]struct {
		raw, want string
		notes     []string
		err       string
	}{
		"as it should be":      {raw: testSecret, want: testSecret},
		"without prefix":       {raw: strings.Repeat("0a", 32), want: strings.Repeat("0a", 32)},
		"trailing newline":     {raw: testSecret + "\n", want: testSecret, notes: []string{"a trailing newline was taken off the token"}},
		"trailing CRLF":        {raw: testSecret + "\r\n", want: testSecret, notes: []string{"a trailing newline was taken off the token"}},
		"white space around":   {raw: " \t" + testSecret + " ", want: testSecret, notes: []string{"white space around the token was taken off"}},
		"quotes around":        {raw: `"` + testSecret + `"`, want: testSecret, notes: []string{"quotes around the token were taken off"}},
		"empty":                {raw: "", err: "token is empty"},
		"only a newline":       {raw: "\n", err: "token is empty", notes: []string{"a trailing newline was taken off the token"}},
		"two lines":            {raw: testSecret + "\n" + testSecret, err: "token contains white space"},
		"with its header name": {raw: "Bearer " + testSecret, err: "token contains white space"},
		"control character":    {raw: testSecret + "\x00x", err: "token contains characters that are not printable ASCII"},
		"not ASCII":            {raw: testSecret + "é", err: "token contains characters that are not printable ASCII"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			token, notes, err := NewToken(tc.raw)
			if got := token.value(); got != tc.want {
				t.Errorf("token differs from the wanted one (length %d, want %d)", len(got), len(tc.want))
			}
			if d := cmp.Diff(tc.notes, notes); d != "" {
				t.Error("notes:", d)
			}
			if got := fmt.Sprint(err); tc.err != "" && got != tc.err || tc.err == "" && err != nil {
				t.Errorf("error %q, want %q", got, tc.err)
			}
			if strings.Contains(fmt.Sprint(notes, err), testSecret) {
				t.Error("notes or error show the token")
			}
		})
	}
}

func TestTokenIsNeverShown(t *testing.T) {
	token := mustToken(t, testSecret)
	hidden := struct {
		token  Token
		tokens []Token
		source TokenSource
	}{token, []Token{token}, StaticToken(token)}
	options := Options{TokenSource: StaticToken(token)}
	client := clientOn(t, answers(answer(200, accountBody)))

	var out bytes.Buffer
	for _, v := range []any{token, &token, hidden, &hidden, options, &options, client, *client.budget.next.(*measured), map[string]Token{"a": token}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		encoded, err := json.Marshal(v) // some of them can't be encoded, which is as good
		fmt.Fprintf(&out, "%s %v\n", encoded, err)
		slog.New(slog.NewTextHandler(&out, nil)).Info("text", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("json", "v", v)
	}
	ctx, log := withLog(context.Background(), 10)
	klog.FromContext(ctx).Info("all", "token", token, "hidden", hidden, "options", options, "client", client)
	fmt.Fprint(&out, log.String(), token.MarshalLog())

	text := out.String()
	hex := fmt.Sprintf("%x", testSecret)
	for _, leak := range []string{testSecret, testSecret[7:], hex} {
		if strings.Contains(text, leak) {
			t.Fatal("the token is shown")
		}
	}
	if !strings.Contains(text, redacted) {
		t.Error("no placeholder is shown: the test printed nothing")
	}
}

func TestZeroTokenIsRefusedBySource(t *testing.T) {
	if _, err := StaticToken(Token{}).Token(t.Context()); err == nil {
		t.Error("a source without a token gave one")
	}
	if !(Token{}).IsZero() || !(Token{}).Equal(Token{}) || (Token{}).Equal(mustToken(t, "abcdefgh")) {
		t.Error("the zero token is not told from others")
	}
}
