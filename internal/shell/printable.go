// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// printable is the edge of the command: all that it writes passes here. Whatever
// a terminal might act on is escaped, since holders of leases, servers and files
// may say anything: control characters but line breaks and tabs, invisible
// characters, those that change the direction of text, bytes that are no UTF-8.
// JSON stays JSON of the same meaning.
//
// [Console.Write] and [Console.Fail], which put lines together, treat line breaks in
// foreign text.
type printable struct {
	io.Writer
	json *bool // as --json says, once flags are parsed
}

// Escaping returns a writer that escapes. JSON tells whether what is written is
// JSON; it is read with each write.
func Escaping(w io.Writer, json *bool) io.Writer { return printable{w, json} }

// Write implements [io.Writer]. Callers write whole lines.
func (p printable) Write(text []byte) (int, error) {
	if _, err := p.Writer.Write(p.escape(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

func (p printable) escape(text []byte) []byte {
	safe := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch broken := r == utf8.RuneError && size == 1; {
		case broken && *p.json:
			safe = append(safe, `\ufffd`...)
		case broken:
			safe = fmt.Appendf(safe, `\x%02x`, text[0])
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			safe = append(safe, text[:size]...)
		case *p.json:
			for _, unit := range utf16.AppendRune(nil, r) {
				safe = fmt.Appendf(safe, `\u%04x`, unit)
			}
		default:
			quoted := strconv.QuoteRune(r)
			safe = append(safe, quoted[1:len(quoted)-1]...)
		}
		text = text[size:]
	}
	return safe
}

// Flat returns a line without the line breaks and tabs in it.
var Flat = strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace

// Word returns text as one word of a line: quoted where it would be several, or
// look like another one.
func Word(text string) string {
	if text == "" || strings.ContainsAny(text, " \"=\n\t") {
		return strconv.Quote(text)
	}
	return text
}

// Argument returns text as one argument of a command line, which can be pasted into a
// POSIX shell, or to the prompt of kazahana shell: in quotes where it needs them.
func Argument(text string) string {
	if text != "" && strings.IndexFunc(text, hasMeaning) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'"'"'`) + "'"
}

// hasMeaning reports whether a shell may take a character for something else than itself.
func hasMeaning(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_@%+:,./-", r)
}
