package simulator

import (
	"net/url"
	"strconv"
)

const (
	defaultPerPage = 20
	maxPerPage     = 200
)

// page is one page of a list: which items it shows and how it links to others.
type page struct {
	from, to int
	links    links
	meta     meta
}

type links struct {
	Pages *pageLinks `json:"pages,omitempty"`
}

type pageLinks struct {
	First string `json:"first,omitempty"`
	Prev  string `json:"prev,omitempty"`
	Next  string `json:"next,omitempty"`
	Last  string `json:"last,omitempty"`
}

type meta struct {
	Total int `json:"total"`
}

// positive reads a query parameter that has to be 1 or more; whatever else it
// is, the API takes the default instead of refusing it.
func positive(query url.Values, name string, fallback int) int {
	n, err := strconv.Atoi(query.Get(name))
	if err != nil || n < 1 {
		return fallback
	}
	return n
}

// paginate computes the page that query asks for out of total items; self is
// the request's URL without its query.
func paginate(total int, query url.Values, self string) page {
	number := positive(query, "page", 1)
	size := min(positive(query, "per_page", defaultPerPage), maxPerPage)
	last := max((total+size-1)/size, 1)
	p := page{meta: meta{Total: total}}
	// Past the end the page is empty; comparing first avoids overflow.
	p.from = total
	if number <= last {
		p.from = (number - 1) * size
	}
	p.to = min(p.from+size, total)
	p.links = pageLinksFor(number, last, func(n int) string {
		return pageURL(self, query, n, size)
	})
	return p
}

func pageLinksFor(number, last int, link func(int) string) links {
	if last == 1 && number == 1 {
		return links{}
	}
	var pages pageLinks
	if number > 1 {
		pages.First = link(1)
		pages.Prev = link(min(number-1, last))
	}
	if number < last {
		pages.Next = link(number + 1)
		pages.Last = link(last)
	}
	return links{Pages: &pages}
}

// pageURL keeps every other parameter of the request.
func pageURL(self string, query url.Values, number, size int) string {
	values := url.Values{}
	for name, v := range query {
		values[name] = v
	}
	values.Set("page", strconv.Itoa(number))
	if query.Has("per_page") {
		values.Set("per_page", strconv.Itoa(size))
	}
	return self + "?" + values.Encode()
}
