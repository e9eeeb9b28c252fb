// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
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

// Stamp formats a time to the second, in UTC.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Pairs formats names and values as words, each after a space: " host=a n=1".
// The names are in order.
func Pairs(values map[string]string) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text += " " + Word(name) + "=" + Word(values[name])
	}
	return text
}

// Size formats a number of bytes: 999 B, 1.5 kB, 12 MB.
func Size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n), -1
	for ; size >= 999.5 && unit < 5; unit++ {
		size /= 1000
	}
	if size < 9.95 {
		return fmt.Sprintf("%.1f %cB", size, "kMGTPE"[unit])
	}
	return fmt.Sprintf("%.0f %cB", size, "kMGTPE"[unit])
}

// ErrNoInput says that a verb has no input to read.
var ErrNoInput = errors.New("there is no input to read here, as it holds the commands of the shell: name a FILE")

// NoInput is the input of the verbs in a script for the shell: each Read fails with
// [ErrNoInput].
var NoInput io.Reader = noInput{}

type noInput struct{}

// Read implements [io.Reader].
func (noInput) Read([]byte) (int, error) { return 0, ErrNoInput }

// SyncFolder writes the names in a folder to the disk. Windows does so by itself, and has no call for it.
func SyncFolder(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
