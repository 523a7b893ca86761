package lint

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Whatever a file holds, nothing panics, and every finding is in it.
func FuzzCheck(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := Check("f.yaml", data, alone)
		if err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
		lines := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) + 2
		for _, finding := range report.Findings {
			if finding.Line < 1 || finding.Line > lines || finding.Column < 1 || finding.Field == "" || finding.Message == "" {
				t.Errorf("%+v in a file of %d lines", finding, lines)
			}
		}
	})
}
