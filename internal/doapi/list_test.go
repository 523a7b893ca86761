package doapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
)

// shelf serves droplets in pages, as the API does, with whatever fault before
// tells, given the page, its size and how many requests came before.
type shelf struct {
	mu     sync.Mutex
	ids    []int
	asked  []string // "page/size"
	before func(s *shelf, page, size, n int) *http.Response
	after  func(answer map[string]any, page int)
}

func newShelf(n int) *shelf {
	s := &shelf{}
	for i := range n {
		s.ids = append(s.ids, 1000+i)
	}
	return s
}

func (s *shelf) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	query := req.URL.Query()
	page, _ := strconv.Atoi(query.Get("page"))
	size, _ := strconv.Atoi(query.Get("per_page"))
	s.asked = append(s.asked, fmt.Sprintf("%d/%d", page, size))
	if s.before != nil {
		if resp := s.before(s, page, size, len(s.asked)-1); resp != nil {
			if resp.StatusCode == 0 {
				<-req.Context().Done() // nothing ever comes
				return nil, req.Context().Err()
			}
			return resp, nil
		}
	}
	answer := s.page(page, size)
	if s.after != nil {
		s.after(answer, page)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return reply(200, string(body), quotaHeaders("4900")...), nil
}

func (s *shelf) page(page, size int) map[string]any {
	from, to := min((page-1)*size, len(s.ids)), min(page*size, len(s.ids))
	droplets := []map[string]int{}
	for _, id := range s.ids[from:to] {
		droplets = append(droplets, map[string]int{"id": id})
	}
	link := func(n int) string {
		return fmt.Sprintf("https://api.digitalocean.com/v2/droplets?page=%d&per_page=%d", n, size)
	}
	links := map[string]any{}
	pages := map[string]string{}
	if page > 1 {
		pages["prev"], pages["first"] = link(page-1), link(1)
	}
	if to < len(s.ids) {
		pages["next"], pages["last"] = link(page+1), link((len(s.ids)+size-1)/size)
	}
	if len(pages) > 0 {
		links["pages"] = pages
	}
	return map[string]any{"droplets": droplets, "links": links, "meta": map[string]int{"total": len(s.ids)}}
}

func dropletID(d godo.Droplet) int { return d.ID }

func listOn(t *testing.T, s *shelf) *Lister[godo.Droplet, int] {
	return NewLister(clientOn(t, s).Droplets.List, dropletID)
}

func wantWhole(t *testing.T, s *shelf, got []godo.Droplet, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, d := range got {
		ids[d.ID] = true
	}
	if len(got) != len(s.ids) || len(ids) != len(s.ids) {
		t.Errorf("%d droplets, %d different, want %d", len(got), len(ids), len(s.ids))
	}
	for _, id := range s.ids {
		if !ids[id] {
			t.Errorf("droplet %d is missing", id)
		}
	}
}

func TestListReadsEveryPage(t *testing.T) {
	for n, calls := range map[int]int{0: 1, 1: 1, 199: 1, 200: 1, 201: 2, 1000: 5, 5000: 25} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := newShelf(n)
			got, err := ListAll(t.Context(), clientOn(t, s).Droplets.List, dropletID)
			wantWhole(t, s, got, err)
			if len(s.asked) != calls || got == nil {
				t.Errorf("%d calls, want %d", len(s.asked), calls)
			}
		})
	}
}

// tooLarge fails pages of more than bound objects from the n-th request on.
func tooLarge(bound, from int, fault func() *http.Response) func(*shelf, int, int, int) *http.Response {
	return func(_ *shelf, _, size, n int) *http.Response {
		if n >= from && size > bound {
			return fault()
		}
		return nil
	}
}

func TestPagesShrinkWhenTheyAreTooLarge(t *testing.T) {
	faults := map[string]func() *http.Response{
		"503":       func() *http.Response { return reply(503, "upstream timed out") },
		"timeout":   func() *http.Response { return &http.Response{} },
		"cut off":   func() *http.Response { return reply(200, `{"droplets":[{"id":1},`) },
		"not JSON":  func() *http.Response { return reply(200, "<html>") },
		"500 of us": func() *http.Response { return reply(500, `{"id":"server_error","message":"x"}`) },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf(730)
				s.before = tooLarge(50, 2, fault)
				lister := listOn(t, s)
				got, err := lister.All(t.Context())
				wantWhole(t, s, got, err)
				// Two pages of 200 were read; 400 is the start of the 9th of 50.
				var small []string
				for _, a := range s.asked {
					if strings.HasSuffix(a, "/50") {
						small = append(small, a)
					}
				}
				if d := cmp.Diff([]string{"9/50", "10/50", "11/50", "12/50", "13/50", "14/50", "15/50"}, small); d != "" {
					t.Error("pages that worked:", d)
				}
				s.asked = nil
				got, err = lister.All(t.Context())
				wantWhole(t, s, got, err)
				if s.asked[0] != "1/50" || len(s.asked) != 15 {
					t.Errorf("the next list began with %s and took %d calls: the size was forgotten", s.asked[0], len(s.asked))
				}
			})
		})
	}
}

func TestPagesGrowAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(100)
		s.before = tooLarge(50, 0, func() *http.Response { return reply(504, "") })
		lister := listOn(t, s)
		for i := range 3 * growAfter {
			if i == 1 {
				s.before = nil
			}
			got, err := lister.All(t.Context())
			wantWhole(t, s, got, err)
		}
		if last := s.asked[len(s.asked)-1]; last != "1/200" {
			t.Errorf("the last page was %s", last)
		}
	})
}

func TestListFailsWhenTheSmallestPageFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(300)
		s.before = tooLarge(0, 1, func() *http.Response { return reply(500, "") })
		got, err := listOn(t, s).All(t.Context())
		if Classify(err) != ClassCloud || got != nil {
			t.Errorf("%d droplets, error %v", len(got), err)
		}
	})
}

func TestOneServerErrorDoesNotShrinkPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(300)
		s.before = func(_ *shelf, _, _, n int) *http.Response {
			if n == 1 {
				return reply(502, "")
			}
			return nil
		}
		got, err := listOn(t, s).All(t.Context())
		wantWhole(t, s, got, err)
		if d := cmp.Diff([]string{"1/200", "2/200", "2/200"}, s.asked); d != "" {
			t.Error(d)
		}
	})
}

func TestShiftedPagesAreReadAgain(t *testing.T) {
	tests := map[string]func(s *shelf){
		"one deleted": func(s *shelf) { s.ids = s.ids[1:] },
		"one made":    func(s *shelf) { s.ids = append([]int{1}, s.ids...) },
		"one each":    func(s *shelf) { s.ids = append([]int{1}, s.ids[:len(s.ids)-1]...) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShelf(500)
			s.before = func(s *shelf, page, _, n int) *http.Response {
				if n == 1 {
					change(s)
				}
				return nil
			}
			got, err := listOn(t, s).All(t.Context())
			wantWhole(t, s, got, err)
		})
	}
}

func TestListThatNeverHoldsStillIsAnError(t *testing.T) {
	s := newShelf(300)
	s.before = func(s *shelf, page, _, n int) *http.Response {
		if page == 2 {
			s.ids = s.ids[1:]
		}
		return nil
	}
	got, err := listOn(t, s).All(t.Context())
	if !errors.Is(err, ErrIncompleteList) || got != nil || len(s.asked) != 2*maxWalks {
		t.Errorf("%d droplets after %d calls, error %v", len(got), len(s.asked), err)
	}
}

func TestContradictionsAreErrors(t *testing.T) {
	noNext := func(a map[string]any, page int) { a["links"] = map[string]any{} }
	tests := map[string]struct {
		n     int
		after func(answer map[string]any, page int)
	}{
		"no total":                     {10, func(a map[string]any, _ int) { delete(a, "meta") }},
		"no total on the last page":    {300, func(a map[string]any, page int) { keep(a, "meta", page == 1) }},
		"no links, more than one page": {300, func(a map[string]any, _ int) { delete(a, "links") }},
		"no links on the last page":    {300, func(a map[string]any, page int) { keep(a, "links", page == 1) }},
		"ends too early":               {300, noNext},
		"total too small":              {300, func(a map[string]any, _ int) { a["meta"] = map[string]int{"total": 150} }},
		"total too large":              {300, func(a map[string]any, _ int) { a["meta"] = map[string]int{"total": 350} }},
		"nothing on a page":            {300, func(a map[string]any, page int) { keep(a, "droplets", page != 1) }},
		"an empty list with a total":   {10, func(a map[string]any, _ int) { delete(a, "droplets") }},
		"a page is missing":            {600, func(a map[string]any, page int) { keep(a, "droplets", page != 2) }},
		"one object is missing":        {300, func(a map[string]any, page int) { a["droplets"] = a["droplets"].([]map[string]int)[1:] }},
		"another page without an end":  {10, func(a map[string]any, page int) { a["links"] = nextLink(page) }},
		"the first page again and again": {600, func(a map[string]any, page int) {
			a["droplets"] = []map[string]int{{"id": 1}}
			a["links"] = nextLink(page)
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShelf(tc.n)
			s.after = tc.after
			got, err := listOn(t, s).All(t.Context())
			if !errors.Is(err, ErrIncompleteList) || Classify(err) != ClassCloud || got != nil {
				t.Errorf("%d droplets, error %v", len(got), err)
			}
			if len(s.asked) > 3*maxWalks {
				t.Errorf("%d calls were spent on it", len(s.asked))
			}
		})
	}
}

func keep(answer map[string]any, key string, yes bool) {
	if !yes {
		delete(answer, key)
	}
}

func nextLink(page int) map[string]any {
	return map[string]any{"pages": map[string]string{"next": fmt.Sprintf("https://api.digitalocean.com/v2/droplets?page=%d", page+1)}}
}

func TestSinglePageMayHaveNoLinks(t *testing.T) {
	s := newShelf(10)
	s.after = func(a map[string]any, _ int) { delete(a, "links") }
	got, err := listOn(t, s).All(t.Context())
	wantWhole(t, s, got, err)
}

func TestListEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(1000)
		s.before = func(_ *shelf, page, _, _ int) *http.Response {
			if page == 3 {
				return &http.Response{}
			}
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		got, err := listOn(t, s).All(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || got != nil || time.Since(start) != 5*time.Second || len(s.asked) != 3 {
			t.Errorf("after %s and %v: %v", time.Since(start), s.asked, err)
		}
	})
}

func TestThrottledListIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(1000)
		s.before = func(_ *shelf, page, _, _ int) *http.Response {
			if page == 2 {
				return reply(429, tooMany, "RateLimit-Remaining: 0")
			}
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := listOn(t, s).All(ctx)
		if Classify(err) != ClassThrottled || len(s.asked) != 2 {
			t.Errorf("%v: %v", s.asked, err)
		}
	})
}

func TestUnreachableAPIIsNotAskedForSmallerPages(t *testing.T) {
	base, err := url.Parse("http://127.0.0.1:1") // tcpmux, which nobody runs
	check(t, err)
	client := clientOn(t, nil, func(o *Options) { o.BaseURL = base })
	calls := 0
	_, err = ListAll(t.Context(), func(ctx context.Context, o *godo.ListOptions) ([]godo.Droplet, *godo.Response, error) {
		calls++
		return client.Droplets.List(ctx, o)
	}, dropletID)
	if Classify(err) != ClassCloud || calls != 1 {
		t.Errorf("%d sizes were tried: %v", calls, err)
	}
}
