package doapi

import (
	"html"
	"regexp"
	"strings"
	"unicode"
)

// maxText bounds a message in runes: events and conditions are read in a
// terminal, and an HTML page may stand where a line is expected.
const maxText = 500

var (
	// tokenPattern is the shape of DigitalOcean's tokens.
	tokenPattern = regexp.MustCompile(`do[a-z]_v1_[0-9a-zA-Z]+`)
	bearer       = regexp.MustCompile(`(?i)\bbearer\s+[^\s"']+`)

	htmlHidden = regexp.MustCompile(`(?is)<(?:script|style)\b.*?</(?:script|style)\s*>|<!--.*?-->`)
	htmlTitle  = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title\s*>`)
	htmlTag    = regexp.MustCompile(`(?s)<[/!a-zA-Z][^>]*>`)

	requestIDText = regexp.MustCompile(`(?i)\s*\(?\brequest(?:[ _-]?id)?[:=]?\s*"?[0-9a-f]{8}-[0-9a-f-]{27,}"?\)?`)
	requestLine   = regexp.MustCompile(`(?i)(?:\b(?:get|head|post|put|patch|delete|options)\s+)?"?https?://[^\s"]+"?:?\s*`)
)

// minSecret keeps a test's token such as "t" from being found in every word.
const minSecret = 8

// Scrub removes secret, unless it is empty or short, and everything shaped like
// a token.
func Scrub(text, secret string) string {
	if len(secret) >= minSecret {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	text = bearer.ReplaceAllString(text, "Bearer "+redacted)
	return tokenPattern.ReplaceAllString(text, redacted)
}

// withoutMarkup gives the title of an HTML page, or its text if it has none.
// What is no HTML stays as it is.
func withoutMarkup(text string) string {
	if !htmlTag.MatchString(text) {
		return text
	}
	if title := htmlTitle.FindStringSubmatch(text); title != nil && strings.TrimSpace(title[1]) != "" {
		text = title[1]
	}
	text = htmlHidden.ReplaceAllString(text, " ")
	return html.UnescapeString(htmlTag.ReplaceAllString(text, " "))
}

// tidy makes a short line of whatever a server sent: no control characters, no
// request id, no token.
func tidy(text string) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || unicode.IsSpace(c) || c == unicode.ReplacementChar {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, " "))
	text = requestIDText.ReplaceAllString(Scrub(text, ""), "")
	return shorten(strings.Join(strings.Fields(text), " "))
}

func shorten(text string) string {
	runes := []rune(text)
	if len(runes) <= maxText {
		return text
	}
	return strings.TrimSpace(string(runes[:maxText-1])) + "…"
}
