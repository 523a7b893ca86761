package sandbox

import (
	"bytes"
	"os"
	"strings"
)

const (
	// tailBytes bounds how much of a log is read for its end.
	tailBytes = 32 << 10
	// tailLines is how many of its last lines are quoted.
	tailLines = 15
)

// logTail is the end of a log file, indented, with a line break before it. It
// is empty if there is none.
func logTail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	data := make([]byte, min(info.Size(), tailBytes))
	n, err := f.ReadAt(data, info.Size()-int64(len(data)))
	if err != nil && n == 0 {
		return ""
	}
	return lastLines(data[:n], tailLines)
}

func lastLines(data []byte, count int) string {
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	var b strings.Builder
	for _, line := range lines[max(0, len(lines)-count):] {
		if len(line) > 0 {
			b.WriteString("\n    ")
			b.Write(line)
		}
	}
	return b.String()
}
