package chart

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// command is one that documents tell people to give.
type command struct {
	file, text string
	// output is what the document shows of it; empty where it shows nothing.
	output string
}

var (
	fence        = regexp.MustCompile("^ *```(.*)$")
	bareCommand  = regexp.MustCompile(`^    (\$ )?(make|kubectl|helm|ccmctl|curl|go|doctl|bin/\S+) `)
	noCommands   = []string{"text", "yaml", "json", "go"}
	shellComment = regexp.MustCompile(`\s+# .*$`)
)

// commandsOf reads the commands in a document: in blocks of a console's, lines
// after a $, which end with a backslash where they go on; and scripts as a whole.
func commandsOf(file, text string) (commands []command, problems []string) {
	var block []string
	language, inside, opened := "", false, 0
	for n, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case m != nil && !inside:
			inside, language, opened, block = true, m[1], n+1, nil
		case m != nil:
			inside = false
			switch {
			case language == "console":
				commands = append(commands, ofConsole(file, block)...)
			case language == "sh" && len(block) > 0 && strings.HasPrefix(block[0], "#!"):
				commands = append(commands, command{file: file, text: strings.Join(block, "\n")})
			case !slices.Contains(noCommands, language):
				problems = append(problems, fmt.Sprintf("%s:%d: a block of %q: commands are in blocks of console, or sh with #!", file, opened, language))
			}
		case inside:
			block = append(block, line)
		case bareCommand.MatchString(line):
			problems = append(problems, fmt.Sprintf("%s:%d: a command that is in no block: %s", file, n+1, strings.TrimSpace(line)))
		}
	}
	return commands, problems
}

func ofConsole(file string, lines []string) (commands []command) {
	goesOn := false
	for _, line := range lines {
		line = strings.TrimRight(line, " ")
		text, begins := strings.CutPrefix(strings.TrimLeft(line, " "), "$ ")
		switch last := len(commands) - 1; {
		case begins:
			commands = append(commands, command{file: file, text: text})
		case last < 0: // a remark above the first one
			continue
		case goesOn:
			commands[last].text = strings.TrimSuffix(commands[last].text, `\`) + strings.TrimSpace(line)
		default:
			commands[last].output += line + "\n"
			continue
		}
		goesOn = strings.HasSuffix(line, `\`)
	}
	for i, c := range commands {
		commands[i].text = shellComment.ReplaceAllString(strings.TrimSpace(c.text), "")
	}
	return commands
}

func documented(t *testing.T) (all []command) {
	t.Helper()
	for _, file := range documents(t) {
		commands, problems := commandsOf(file, read(t, filepath.Join(root, file)))
		for _, p := range problems {
			t.Error(p)
		}
		all = append(all, commands...)
	}
	return all
}

var dataBlock = regexp.MustCompile("(?ms)^( *)```(?:yaml|json)\n(.*?)^ *```$")

// What documents show of files is YAML, which JSON is too.
func TestFilesInDocumentsCanBeRead(t *testing.T) {
	count := 0
	for _, file := range documents(t) {
		for _, m := range dataBlock.FindAllStringSubmatch(read(t, filepath.Join(root, file)), -1) {
			count++
			for text := range strings.SplitSeq(strings.ReplaceAll(m[2], "\n"+m[1], "\n"), "\n---\n") {
				var value any
				if err := yaml.UnmarshalStrict([]byte(strings.TrimPrefix(text, m[1])), &value); err != nil {
					t.Errorf("%s: %v:\n%s", file, err, text)
				}
			}
		}
	}
	if count < 6 {
		t.Errorf("%d blocks", count)
	}
}

func TestCommandsAreFoundInDocuments(t *testing.T) {
	text := "To do:\n\n```console\n# First:\n$ a --b \\\n    --c   # why\nsaid\n$ d\n```\n\n" +
		"   ```console\n   $ e\n   ```\n\n```sh\n#!/bin/sh\nf\n```\n\n```\n$ g\n```\n\n    make h now\n\n```yaml\n    make: i\n```\n"
	commands, problems := commandsOf("x.md", text)
	want := []command{{"x.md", "a --b --c", "said\n"}, {"x.md", "d", ""}, {"x.md", "e", ""}, {"x.md", "#!/bin/sh\nf", ""}}
	if !slices.Equal(commands, want) {
		t.Errorf("%q, want %q", commands, want)
	}
	if len(problems) != 2 || !strings.HasPrefix(problems[0], "x.md:20:") || !strings.Contains(problems[1], "make h now") {
		t.Errorf("%q", problems)
	}
}
