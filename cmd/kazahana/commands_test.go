// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	const text = "`go x 1` and `go x 2`.\n\n<!-- run -->\n| `go y 1`, `go y PATH`, `go y …`, `rm y` |\n| `go y 2` |\n\n`go z`\n" +
		"```sh\ngo a 'b c' # comment\n\ngo d \\\n  e\n```\n<!-- not run: it serves -->\n```console\n$ go f\nserving\n$ go g\n```\n```console\n$ go h\none\ntwo\n```\n"
	want := []pageCommand{
		{Line: 1, Text: "go x 1"},
		{Line: 1, Text: "go x 2"},
		{Line: 4, Text: "go y 1", Run: true},
		{Line: 4, Text: "go y PATH"},
		{Line: 4, Text: "go y …"},
		{Line: 5, Text: "go y 2", Run: true},
		{Line: 7, Text: "go z"},
		{Line: 9, Text: "go a 'b c' # comment", Run: true},
		{Line: 11, Text: "go d \\\n  e", Run: true},
		{Line: 16, Text: "go f", Output: "serving\n", Reason: "it serves"},
		{Line: 18, Text: "go g", Reason: "it serves"},
		{Line: 21, Text: "go h", Output: "one\ntwo\n", Run: true},
	}
	if got := commandsOf(text, "go"); !slices.Equal(got, want) {
		t.Errorf("commands: %+v\nwant %+v", got, want)
	}
}

// pageCommand is a command line in a page.
type pageCommand struct {
	Line   int    // of the page, from 1
	Text   string // as a shell reads it
	Output string // what the page shows of what it writes; "" in blocks that show nothing
	Run    bool   // the page's commands are run in order, and this one is one of them
	Reason string // why a block is not run
}

// commandsOf returns the command lines of a page: those of blocks, and those between backquotes that
// begin with the name of a program. Those in blocks of sh and console are to be run, and of those
// between backquotes the ones that are whole, in a table or paragraph so marked:
//
//	<!-- not run: REASON -->   the commands of the next block are not run
//	<!-- run -->               the commands of the next table or paragraph are run
func commandsOf(text, program string) (all []pageCommand) {
	reason, marked, lines := "", false, strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		switch line := strings.TrimSpace(lines[i]); {
		case strings.HasPrefix(line, "<!-- not run: "):
			reason = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(line, "<!-- not run: "), "-->"))
		case line == "<!-- run -->":
			marked = true
		case line == "```sh" || line == "```console":
			end := endOfBlock(lines, i+1)
			all = append(all, blockCommands(lines[i+1:min(end, len(lines))], i+2, line == "```console", reason)...)
			i, reason = end, ""
		case strings.HasPrefix(line, "```"):
			i = endOfBlock(lines, i+1)
		default:
			marked = marked && line != ""
			for _, span := range inBackquotes.FindAllString(line, -1) {
				if text := strings.Trim(span, "`"); strings.HasPrefix(text, program+" ") {
					all = append(all, pageCommand{Line: i + 1, Text: text, Run: marked && !partial.MatchString(text)})
				}
			}
		}
	}
	return all
}

// endOfBlock returns the index of the line that ends a block, which begins at i.
func endOfBlock(lines []string, i int) int {
	for i < len(lines) && strings.TrimSpace(lines[i]) != "```" {
		i++
	}
	return i
}

var inBackquotes = regexp.MustCompile("`[^`]+`")

// partial matches what stands for something else in a command.
var partial = regexp.MustCompile(`…|\b[A-Z]{2,}|example\.com`)

// blockCommands returns the commands of a block. Its first line is the line at of the page.
func blockCommands(block []string, at int, console bool, reason string) (all []pageCommand) {
	continued := false
	for i, line := range block {
		text, prompted := strings.CutPrefix(line, "$ ")
		switch {
		case continued:
			all[len(all)-1].Text += "\n" + line
		case console && !prompted:
			if len(all) > 0 {
				all[len(all)-1].Output += line + "\n"
			}
			continue
		case strings.TrimSpace(line) == "":
			continue
		default:
			all = append(all, pageCommand{Line: at + i, Text: text, Run: reason == "", Reason: reason})
		}
		continued = strings.HasSuffix(line, `\`)
	}
	return all
}
