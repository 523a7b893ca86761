// Package openapitest checks requests and answers of DigitalOcean's API against
// the API's published description, in tests.
//
// The description is test data and no part of this repository. Tests find it
// where the environment variable DIGITALOCEAN_OPENAPI points to, else in
// ../shared/openapi beside the checkout; without it they skip and say so. The
// directory holds digitalocean-v2.json, an OpenAPI 3.0 document, and may hold
// true-to-life.patch.json, a list of JSON Patch operations (add, replace and
// remove), each with a why, that make the document agree with the real API.
//
// What the document still gets wrong is listed in defects.go, and nowhere else.
package openapitest
