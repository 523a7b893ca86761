// Package doapi is the manager's client of the DigitalOcean API.
//
// It is a [godo.Client] whose HTTP client is a chain of round trippers. godo
// stays fully visible; what the chain adds is what a controller needs and godo
// leaves to its caller:
//
//	retry      again, when repeating can't do harm and may help
//	auth       token, user agent, and silence while the token is refused
//	budget     priorities, the shared pause on 429, the cap on requests a second
//	metrics    requests, durations
//	logging    one line a request at V(4), bodies at V(8)
//	exchange   deadline of the attempt, whole bodies, readable errors
//	base       the network
//
// # Quota
//
// A token may make 5,000 requests in a sliding hour and 5 % of that in a
// minute, and shares them with whatever else uses it: Terraform, the CSI
// driver, external-dns. Every answer says how much is left, so the budget
// learns others' consumption for free. A call carries a [Priority] in its
// context; the less urgent it is, the more it leaves to others. A call that
// would have to wait longer than its context allows fails at once with
// [ErrThrottled], which tells when to come back.
//
// # Errors
//
// [Classify] says who must act on an error, [Message] gives the text for
// people, [IsNotFound] is the only test that a deletion may rest on: it wants
// the API's own words, not just the status 404, which anything between us and
// the API can produce.
//
// # Lists
//
// [ListAll] and [Lister] return every object or an error. Nothing else in this
// package looks at more than one page.
package doapi
