// Package state is the book of what the manager knows of each object that it
// looks after, and how operators see it: a page, JSON, and metrics.
//
// Those who work write into the [Book] what they found and did; nothing is
// asked of any API for its sake, and nothing is decided by it. What is said of
// an object is forgotten with the object, so the book is as large as the
// cluster at most.
package state
