package lint

import (
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// entry is one pair of a mapping; both are nil where there is none.
type entry struct{ key, value *yamlv3.Node }

// at finds a key of a mapping. Of a key that is there twice the last counts, as
// it does for the API server; the mapping's own win over merged ones.
func at(node *yamlv3.Node, key string) entry {
	node = resolve(node)
	if node == nil || node.Kind != yamlv3.MappingNode {
		return entry{}
	}
	var merged entry
	for i := len(node.Content) - 2; i >= 0; i -= 2 {
		name, value := node.Content[i], node.Content[i+1]
		switch {
		case name.Value == key && name.Tag != "!!merge":
			return entry{name, value}
		case name.Tag == "!!merge" && merged.key == nil:
			merged = atMerged(value, key)
		}
	}
	return merged
}

// atMerged finds a key in what the merge key "<<" names: a mapping or several, of
// which the first that has it counts.
func atMerged(node *yamlv3.Node, key string) entry {
	node = resolve(node)
	if node == nil || node.Kind != yamlv3.SequenceNode {
		return at(node, key)
	}
	for _, mapping := range node.Content {
		if found := at(mapping, key); found.key != nil {
			return found
		}
	}
	return entry{}
}

// element is the i-th of a sequence, or nil.
func element(node *yamlv3.Node, i int) *yamlv3.Node {
	node = resolve(node)
	if node == nil || node.Kind != yamlv3.SequenceNode || i < 0 || i >= len(node.Content) {
		return nil
	}
	return node.Content[i]
}

func resolve(node *yamlv3.Node) *yamlv3.Node {
	if node != nil && node.Kind == yamlv3.AliasNode {
		return node.Alias
	}
	return node
}

// repeated are the keys that a mapping has more than once, in order.
func repeated(node *yamlv3.Node) []string {
	node = resolve(node)
	if node == nil || node.Kind != yamlv3.MappingNode {
		return nil
	}
	seen := map[string]int{}
	var keys []string
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i].Value
		if seen[name]++; seen[name] == 2 {
			keys = append(keys, name)
		}
	}
	return keys
}

// place finds the node of a path, such as spec.ports[0].protocol, or the deepest
// above it that the file has. Of a pair it is the key.
func place(node *yamlv3.Node, path string) *yamlv3.Node {
	found := node
	for part := range strings.SplitSeq(path, ".") {
		name, index, isElement := strings.Cut(part, "[")
		next := at(node, name)
		if next.key == nil {
			break
		}
		found, node = next.key, next.value
		if !isElement {
			continue
		}
		i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
		if node = element(node, i); err != nil || node == nil {
			break
		}
		found = node
	}
	return found
}
