// Package mangle makes the answers of an API wrong, one field at a time, for
// tests of what happens when the API stops sending a field, or sends something
// else in it.
package mangle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// Kind is what becomes of a field.
type Kind string

// The kinds. All but Removed and Null put a value of a type into the field that
// it may not be of; where it is, the value is one that nobody meant.
const (
	Removed Kind = "removed"
	Null    Kind = "null"
	Text    Kind = "text"
	Number  Kind = "number"
	Bool    Kind = "bool"
	List    Kind = "list"
	Object  Kind = "object"
	// Empty is the empty value of the field's own type.
	Empty Kind = "empty"
)

// Kinds are all kinds.
func Kinds() []Kind { return []Kind{Removed, Null, Text, Number, Bool, List, Object, Empty} }

// Field is the place of a value in an answer, such as droplet.networks.v4[].type.
// The members of a list are [], all of them. What an answer holds one or many of
// goes by the same name: droplet is the member of droplets as well.
type Field string

// Change is one thing that is wrong.
type Change struct {
	Field Field
	Kind  Kind
}

func (c Change) String() string { return fmt.Sprintf("%s %s", c.Field, c.Kind) }

// everyChange names the environment variable that has tests go through all
// changes where it is "all".
const everyChange = "MANGLE"

// sample is the share of the changes that a short test goes through.
const sample = 6

// Chosen are the changes that a test goes through: each field missing, and wrong
// in one other way, which is another for each field; all of them, which takes
// minutes, with MANGLE=all; and of those two a sample with -short.
func Chosen(changes []Change) (chosen []Change) {
	if os.Getenv(everyChange) == "all" {
		return changes
	}
	fields := map[Field]int{}
	for _, c := range changes {
		if _, ok := fields[c.Field]; !ok {
			fields[c.Field] = len(fields)
		}
		other := Kinds()[1+fields[c.Field]%(len(Kinds())-1)]
		if c.Kind == Removed || c.Kind == other {
			chosen = append(chosen, c)
		}
	}
	if !testing.Short() {
		return chosen
	}
	var some []Change
	for i := 0; i < len(chosen); i += sample {
		some = append(some, chosen[i])
	}
	return some
}

// Changes are all changes of the fields that are in any of the answers, in order.
// What is no JSON object has none.
func Changes(answers ...[]byte) []Change {
	fields := map[Field]bool{}
	for _, answer := range answers {
		if tree, ok := parse(answer); ok {
			visit("", tree, func(f Field, _ any) (any, bool) { fields[f] = true; return nil, false })
		}
	}
	var changes []Change
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		for _, kind := range Kinds() {
			changes = append(changes, Change{field, kind})
		}
	}
	return changes
}

// Apply makes the change in an answer. One that lacks the field stays as it is.
func (c Change) Apply(answer []byte) []byte {
	tree, ok := parse(answer)
	if !ok {
		return answer
	}
	hit := false
	visit("", tree, func(f Field, old any) (any, bool) {
		if f != c.Field {
			return nil, false
		}
		hit = true
		return c.Kind.of(old), true
	})
	if !hit {
		return answer
	}
	changed, err := json.Marshal(tree)
	if err != nil {
		return answer // it was decoded from JSON
	}
	return changed
}

// absent stands for a value that goes.
type absent struct{}

func (k Kind) of(old any) any {
	switch k {
	case Removed:
		return absent{}
	case Text:
		return "mangled"
	case Number:
		return 7
	case Bool:
		return true
	case List:
		return []any{"mangled"}
	case Object:
		return map[string]any{"mangled": "mangled"}
	case Empty:
		return emptied(old)
	}
	return nil
}

func emptied(old any) any {
	switch old.(type) {
	case string:
		return ""
	case json.Number:
		return 0
	case bool:
		return false
	case []any:
		return []any{}
	case map[string]any:
		return map[string]any{}
	}
	return nil
}

func parse(answer []byte) (tree map[string]any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	return tree, d.Decode(&tree) == nil && tree != nil
}

// visit calls look for every value below an object, the outer first, and puts
// what it returns, if that is anything, in the value's place.
func visit(path Field, tree map[string]any, look func(Field, any) (any, bool)) {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		field := below(path, key)
		value, ok := look(field, tree[key])
		switch old := tree[key].(type) {
		case map[string]any:
			if !ok {
				visit(field, old, look)
			}
		case []any:
			if !ok {
				value, ok = visitList(memberOf(path, field), old, look), true
			}
		}
		if _, gone := value.(absent); gone {
			delete(tree, key)
		} else if ok {
			tree[key] = value
		}
	}
}

func visitList(member Field, list []any, look func(Field, any) (any, bool)) []any {
	kept := []any{}
	for _, old := range list {
		value, ok := look(member, old)
		if object, isObject := old.(map[string]any); isObject && !ok {
			visit(member, object, look)
		}
		if _, gone := value.(absent); gone {
			continue
		}
		if !ok {
			value = old
		}
		kept = append(kept, value)
	}
	return kept
}

func below(path Field, key string) Field {
	if path == "" {
		return Field(key)
	}
	return path + Field("."+key)
}

// memberOf is the field of a list's members.
func memberOf(path, field Field) Field {
	if one, ok := strings.CutSuffix(string(field), "s"); ok && path == "" {
		return Field(one)
	}
	return field + "[]"
}
