package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// document is one YAML document of a file.
type document struct {
	text []byte
	// before is the number of the file's lines in front of it.
	before int
}

var separator = regexp.MustCompile(`^---\s*(#.*)?$`)

// split cuts a file where kubectl does. Each document is parsed by itself, so
// that a broken one doesn't hide the others.
func split(data []byte) []document {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // as editors on Windows begin a file
	documents, rest := splitJSON(data)
	return append(documents, splitYAML(data[rest:], bytes.Count(data[:rest], []byte("\n")))...)
}

// splitJSON cuts off the JSON objects with which a file begins, one after the
// other, as kubectl and jq write them. What follows begins at the offset.
func splitJSON(data []byte) (documents []document, offset int) {
	for {
		start := offset + len(data[offset:]) - len(bytes.TrimLeft(data[offset:], " \t\r\n"))
		if start == len(data) || data[start] != '{' {
			return documents, offset
		}
		decoder := json.NewDecoder(bytes.NewReader(data[start:]))
		var object json.RawMessage
		if decoder.Decode(&object) != nil {
			return documents, offset // YAML may begin with a brace too
		}
		// Blanks keep the columns of what shares a line with the one before.
		line := bytes.LastIndexByte(data[:start], '\n') + 1
		documents = append(documents, document{
			text:   append(bytes.Repeat([]byte(" "), start-line), object...),
			before: bytes.Count(data[:start], []byte("\n")),
		})
		offset = start + int(decoder.InputOffset())
	}
}

// splitYAML cuts at the lines that separate documents. line is the number of
// lines in front.
func splitYAML(data []byte, line int) []document {
	documents := []document{{before: line}}
	for text := range bytes.Lines(data) {
		line++
		if separator.Match(bytes.TrimRight(text, "\r\n")) {
			documents = append(documents, document{before: line})
			continue
		}
		last := &documents[len(documents)-1]
		last.text = append(last.text, text...)
	}
	return documents
}

// Objects returns the Services of a file of YAML documents or of JSON, as the file
// has them. Other kinds are skipped. It fails where a document can't be read.
func Objects(file string, data []byte) ([]map[string]any, error) {
	var objects []map[string]any
	for _, d := range split(data) {
		manifests, err := d.manifests()
		if err != nil {
			return nil, fmt.Errorf("%s:%w", file, err)
		}
		for _, m := range manifests {
			objects = append(objects, m.object)
		}
	}
	return objects, nil
}

// manifest is one Service in a document, in two forms: as the API server will
// get it, and as the file has it.
type manifest struct {
	object map[string]any
	// node is nil where the file's form is not known.
	node *yamlv3.Node
	// before is the document's.
	before int
}

// manifests returns the Services of a document. The values are decoded by the
// library that kubectl decodes with: others differ in what is a string. The tree
// with the places is another library's.
func (d document) manifests() ([]manifest, error) {
	var value any
	if err := yaml.Unmarshal(d.text, &value); err != nil {
		return nil, d.unreadable(err)
	}
	root, err := d.tree()
	if err != nil {
		return nil, err
	}
	var node *yamlv3.Node
	if len(root.Content) > 0 {
		node = root.Content[0]
	}
	return d.services(value, node, false), nil
}

// tree is the document as it is written, empty where there is none. A second one,
// as after a line of "...", is an error: kubectl would leave it out silently.
func (d document) tree() (yamlv3.Node, error) {
	var root, second yamlv3.Node
	decoder := yamlv3.NewDecoder(bytes.NewReader(d.text))
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return root, nil
	case err != nil:
		return root, d.unreadable(err)
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
		return root, nil
	case err != nil:
		return root, d.unreadable(err)
	}
	return root, fmt.Errorf("%d: another document begins, which kubectl does not see: separate documents by a line of --- alone, in UTF-8", d.before+second.Line)
}

// services gathers the Services of an object that is one, or a list of objects.
// In a list of Services the entries need not say what they are.
func (d document) services(value any, node *yamlv3.Node, ofServices bool) []manifest {
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	kind, version := object["kind"], object["apiVersion"]
	switch {
	case kind == "Service" && version == "v1", ofServices && kind == nil && version == nil:
		return []manifest{{object: object, node: node, before: d.before}}
	case version != "v1" || kind != "List" && kind != "ServiceList":
		return nil
	}
	var all []manifest
	items, _ := object["items"].([]any)
	list := at(node, "items").value
	for i, item := range items {
		all = append(all, d.services(item, element(list, i), kind == "ServiceList")...)
	}
	return all
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// unreadable says where in the file the document is broken.
func (d document) unreadable(err error) error {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: ")
	line := 1
	if match := yamlLine.FindStringSubmatch(text); match != nil {
		line, _ = strconv.Atoi(match[1]) // digits
		text = strings.TrimPrefix(text, match[0])
	}
	hint := ""
	if bytes.Contains(d.text, []byte("{{")) {
		hint = " (it looks like a template: render it first, as with helm template CHART | ccmctl lint -)"
	}
	return fmt.Errorf("%d: is not YAML: %s%s", d.before+line, text, hint)
}
