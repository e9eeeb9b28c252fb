// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"bytes"
	"fmt"
)

// The lines of a Markdown file between which a graph is.
const (
	Begin = "<!-- persistgen:graph -->"
	End   = "<!-- /persistgen:graph -->"
)

// MarkerError says that a Markdown file lacks the lines for a graph, or has too many.
type MarkerError struct {
	Line    int // from 1
	Message string
}

// Error returns the message.
func (e *MarkerError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// Insert puts a text between the markers of a Markdown file, as a block of code in a
// language, and leaves all else as it is.
func Insert(markdown []byte, language string, text []byte) ([]byte, error) {
	lines := bytes.SplitAfter(markdown, []byte("\n"))
	begin, end, err := findMarkers(lines)
	if err != nil {
		return nil, err
	}
	block := fmt.Sprintf("```%s\n%s```\n", language, text)
	if bytes.HasSuffix(lines[begin], []byte("\r\n")) {
		block = string(bytes.ReplaceAll([]byte(block), []byte("\n"), []byte("\r\n")))
	}
	return bytes.Join([][]byte{bytes.Join(lines[:begin+1], nil), []byte(block), bytes.Join(lines[end:], nil)}, nil), nil
}

// findMarkers returns the lines of the markers, counted from 0.
func findMarkers(lines [][]byte) (begin, end int, err error) {
	begin, end = -1, -1
	for i, line := range lines {
		switch string(bytes.TrimSpace(line)) {
		case Begin:
			if begin >= 0 {
				return 0, 0, &MarkerError{i + 1, fmt.Sprintf("a second line %s; the first is line %d", Begin, begin+1)}
			}
			begin = i
		case End:
			if begin < 0 || end >= 0 {
				return 0, 0, &MarkerError{i + 1, fmt.Sprintf("the line %s ends no graph; remove it", End)}
			}
			end = i
		}
	}
	switch {
	case begin < 0:
		return 0, 0, &MarkerError{1, fmt.Sprintf("the file has no place for the graph: write the lines %s and %s where it is to be", Begin, End)}
	case end < 0:
		return 0, 0, &MarkerError{begin + 1, fmt.Sprintf("the end of the graph is missing: write the line %s behind it", End)}
	}
	return begin, end, nil
}
