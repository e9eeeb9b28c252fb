// SPDX-License-Identifier: Apache-2.0

package snippets

import (
	"regexp"
	"strings"
)

// Command is a command line in a page.
type Command struct {
	Line   int    // of the page, from 1
	Text   string // as a shell reads it
	Output string // what the page shows of what it writes; "" in blocks that show nothing
	Run    bool   // the page's commands are run in order, and this one is one of them
	Reason string // why a block is not run
}

// Commands returns the command lines of a page: those of blocks, and those between backquotes that
// begin with the name of a program. Blocks of sh and console are run, unless the page says why not.
// Of commands between backquotes those are run that stand in a marked table or paragraph, and are whole.
func (p *Page) Commands(program string) (all []Command) {
	reason, marked, lines := "", false, strings.Split(p.Text, "\n")
	for i := 0; i < len(lines); i++ {
		switch line := strings.TrimSpace(lines[i]); {
		case strings.HasPrefix(line, "<!-- not run: "):
			reason = comment(line, "<!-- not run: ")
		case line == "<!-- run -->":
			marked = true
		case line == "```sh" || line == "```console":
			end, block := until(lines, i+1, "```")
			all = append(all, blockCommands(block, i+2, line == "```console", reason)...)
			i, reason = end, ""
		case strings.HasPrefix(line, "```"):
			i, _ = until(lines, i+1, "```")
		default:
			marked = marked && line != ""
			for _, span := range spanPattern.FindAllString(line, -1) {
				if text := strings.Trim(span, "`"); strings.HasPrefix(text, program+" ") {
					all = append(all, Command{Line: i + 1, Text: text, Run: marked && !partial.MatchString(text)})
				}
			}
		}
	}
	return all
}

// partial matches what stands for something else in a command.
var partial = regexp.MustCompile(`…|\b[A-Z]{2,}|example\.com`)

// blockCommands returns the commands of a block. Its first line is the line at of the page.
func blockCommands(block string, at int, console bool, reason string) (all []Command) {
	continued := false
	for i, line := range strings.Split(block, "\n") {
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
			all = append(all, Command{Line: at + i, Text: text, Run: reason == "", Reason: reason})
		}
		continued = strings.HasSuffix(line, `\`)
	}
	return all
}
