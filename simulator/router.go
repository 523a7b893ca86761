package simulator

import (
	"net/http"
	"slices"
	"strings"
)

// route is one operation. In its pattern a segment in braces matches any one
// non-empty segment of a path and names it.
type route struct {
	method  string
	pattern []string
	handle  handler
}

// handler acts on an admitted request, with the simulator's lock held.
type handler func(*call) (reply, error)

// router finds the operation of a request. Routes are tried in the order they
// were added, so a literal path has to be added before a pattern that would
// match it too.
type router struct {
	routes []route
}

func (t *router) add(method, pattern string, handle handler) {
	t.routes = append(t.routes, route{method, strings.Split(pattern, "/"), handle})
}

// Operations lists the operations of the API that a Simulator has, sorted by
// path, as "GET /v2/droplets/{id}".
func Operations() []string {
	var found []string
	routes := newAPIRouter().routes
	slices.SortStableFunc(routes, func(a, b route) int { return slices.Compare(a.pattern, b.pattern) })
	for _, r := range routes {
		found = append(found, r.method+" "+strings.Join(r.pattern, "/"))
	}
	return found
}

// find returns the operation and the named segments. Without an operation,
// allowed lists the methods that the path knows; empty means an unknown path.
func (t *router) find(method, path string) (handle handler, params map[string]string, allowed []string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segments := strings.Split(path, "/")
	for _, candidate := range t.routes {
		found, ok := match(candidate.pattern, segments)
		if !ok {
			continue
		}
		if candidate.method == method {
			return candidate.handle, found, nil
		}
		if !slices.Contains(allowed, candidate.method) {
			allowed = append(allowed, candidate.method)
		}
	}
	return nil, nil, allowed
}

func match(pattern, segments []string) (map[string]string, bool) {
	if len(pattern) != len(segments) {
		return nil, false
	}
	var params map[string]string
	for i, p := range pattern {
		name, variable := strings.CutPrefix(p, "{")
		switch {
		case !variable && p != segments[i], variable && segments[i] == "":
			return nil, false
		case variable:
			if params == nil {
				params = map[string]string{}
			}
			params[strings.TrimSuffix(name, "}")] = segments[i]
		}
	}
	return params, true
}
