package doapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/digitalocean/godo"
)

const (
	// The API gives at most maxPageSize objects a page. Now and then that is
	// more than it manages in time, so pages shrink, by halves: then every
	// offset reached stays a multiple of the page size.
	maxPageSize = 200
	minPageSize = 25
	// growAfter is how many whole lists a shrunken page size must serve before
	// a larger one is tried again.
	growAfter = 10
	// maxWalks is how often a list whose pages shift is read from the start.
	maxWalks = 3
)

// ErrIncompleteList reports a list that could not be read whole.
var ErrIncompleteList = errors.New("incomplete list")

// errShifted is the incompleteness that reading again may mend: objects came
// or went between two pages.
var errShifted = fmt.Errorf("%w: pages shifted", ErrIncompleteList)

// ListFunc reads one page, as godo's List methods do.
type ListFunc[T any] func(context.Context, *godo.ListOptions) ([]T, *godo.Response, error)

// Lister reads a collection again and again and remembers the page size that
// works. It is safe for concurrent use.
type Lister[T any, K comparable] struct {
	list ListFunc[T]
	key  func(T) K

	mu    sync.Mutex
	size  int
	whole int // lists in a row that size served
}

// NewLister makes a Lister of the collection that list reads; key gives what
// tells one object from another.
func NewLister[T any, K comparable](list ListFunc[T], key func(T) K) *Lister[T, K] {
	return &Lister[T, K]{list: list, key: key, size: maxPageSize}
}

// ListAll reads every page of a collection. A list is whole or it is an error,
// never short; it is never nil without an error.
//
// Whole means: every page had the same total, and as many distinct objects came
// as that. An object made and another deleted between the same two pages leave
// the total as it was, so absence from a list proves nothing about one object.
func ListAll[T any, K comparable](ctx context.Context, list func(context.Context, *godo.ListOptions) ([]T, *godo.Response, error), key func(T) K) ([]T, error) {
	return NewLister(list, key).All(ctx)
}

// All reads every page, like [ListAll].
func (l *Lister[T, K]) All(ctx context.Context) ([]T, error) {
	l.mu.Lock()
	size := l.size
	l.mu.Unlock()
	var err error
	for range maxWalks {
		var items []T
		if items, err = l.walk(ctx, &size); err == nil {
			l.remember(size)
			return items, nil
		}
		if !errors.Is(err, errShifted) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("list read %d times: %w", maxWalks, err)
}

func (l *Lister[T, K]) remember(size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if size != l.size {
		l.size, l.whole = size, 0
		return
	}
	if l.whole++; l.whole >= growAfter {
		l.size, l.whole = min(l.size*2, maxPageSize), 0
	}
}

// walk reads the pages once, and makes them smaller from where it is when the
// API can't manage them.
func (l *Lister[T, K]) walk(ctx context.Context, size *int) ([]T, error) {
	items := []T{}
	seen := map[K]struct{}{}
	var none K
	total, received := -1, 0
	for offset := 0; ; offset += *size {
		p, err := l.page(ctx, offset, size)
		if err != nil {
			return nil, err
		}
		if total >= 0 && p.total != total {
			return nil, fmt.Errorf("%w: total went from %d to %d", errShifted, total, p.total)
		}
		total, received = p.total, received+len(p.items)
		before := len(items)
		for _, item := range p.items {
			k := l.key(item)
			if k == none {
				return nil, fmt.Errorf("%w: an object at offset %d has no id", ErrIncompleteList, offset)
			}
			if _, dup := seen[k]; !dup {
				seen[k] = struct{}{}
				items = append(items, item)
			}
		}
		if p.last {
			break
		}
		if len(p.items) == 0 || received >= total {
			return nil, fmt.Errorf("%w: another page is announced after %d of %d objects", ErrIncompleteList, received, total)
		}
		if len(items) == before {
			return nil, fmt.Errorf("%w: nothing new at offset %d", errShifted, offset)
		}
	}
	if len(items) != total {
		return nil, fmt.Errorf("%w: %d objects of %d", errShifted, len(items), total)
	}
	return items, nil
}

type page[T any] struct {
	items []T
	total int
	last  bool
}

// page reads the page at offset, halving the size while that is too much.
func (l *Lister[T, K]) page(ctx context.Context, offset int, size *int) (page[T], error) {
	for {
		number := offset / *size + 1
		items, resp, err := l.list(pageContext(ctx, *size), &godo.ListOptions{Page: number, PerPage: *size})
		if err == nil {
			return checkPage(items, resp, number)
		}
		if *size <= minPageSize || ctx.Err() != nil || !tooMuch(err) {
			return page[T]{}, fmt.Errorf("list page %d of size %d: %w", number, *size, err)
		}
		*size /= 2
	}
}

// pageContext spends less patience on a page that can still be made smaller.
func pageContext(ctx context.Context, size int) context.Context {
	if size <= minPageSize {
		return ctx
	}
	return withPolicy(ctx, retryPolicy{attempts: 2})
}

// tooMuch tells what a smaller page may mend.
func tooMuch(err error) bool {
	if answer, ok := answerOf(err); ok {
		return answer.Response.StatusCode >= http.StatusInternalServerError
	}
	if errors.Is(err, ErrThrottled) || neverConnected(err) {
		return false
	}
	return isTimeout(err) || isUnreadable(err)
}

// checkPage reads what a page says of the list. Links may be missing only where
// the total proves that there is no other page.
func checkPage[T any](items []T, resp *godo.Response, number int) (page[T], error) {
	if resp == nil || resp.Meta == nil {
		return page[T]{}, fmt.Errorf("%w: page %d has no total", ErrIncompleteList, number)
	}
	p := page[T]{items: items, total: resp.Meta.Total, last: true}
	if resp.Links == nil {
		if number > 1 || len(items) != p.total {
			return page[T]{}, fmt.Errorf("%w: page %d has no links", ErrIncompleteList, number)
		}
		return p, nil
	}
	p.last = resp.Links.IsLastPage()
	return p, nil
}
