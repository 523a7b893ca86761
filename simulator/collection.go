package simulator

import (
	"iter"
	"slices"
)

// collection keeps objects in the order they were added, with an index by key.
type collection[K comparable, V any] struct {
	items []*V
	index map[K]*V
}

func newCollection[K comparable, V any]() *collection[K, V] {
	return &collection[K, V]{index: map[K]*V{}}
}

func (c *collection[K, V]) add(key K, value *V) {
	c.items = append(c.items, value)
	c.index[key] = value
}

func (c *collection[K, V]) get(key K) (*V, bool) {
	v, ok := c.index[key]
	return v, ok
}

// find is get for what a request's path names: the API's 404 where it is none.
func (c *collection[K, V]) find(key K) (*V, error) {
	v, ok := c.get(key)
	if !ok {
		return nil, notFound()
	}
	return v, nil
}

func (c *collection[K, V]) remove(key K) {
	v, ok := c.index[key]
	if !ok {
		return
	}
	delete(c.index, key)
	if i := slices.Index(c.items, v); i >= 0 {
		c.items = slices.Delete(c.items, i, i+1)
	}
}

func (c *collection[K, V]) len() int { return len(c.items) }

// all walks from the oldest to the newest.
func (c *collection[K, V]) all() iter.Seq[*V] {
	return slices.Values(c.items)
}

// newest walks from the newest to the oldest.
func (c *collection[K, V]) newest() iter.Seq[*V] {
	return func(yield func(*V) bool) {
		for i := len(c.items) - 1; i >= 0; i-- {
			if !yield(c.items[i]) {
				return
			}
		}
	}
}
