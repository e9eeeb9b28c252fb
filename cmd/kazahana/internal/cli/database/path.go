// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

// AboutPaths says in the help of a verb how paths are written.
const AboutPaths = `
A path is written tenants/tenant-1/orders. In a name, \/ is a slash, \\ a backslash, and \xNN a byte.`

// ParsePath returns the path of a directory for an argument: elements with / between
// them, in which \/ is a slash, \\ a backslash, and \xNN a byte. "." and ".." are the
// directory itself and the one above; as names they are written \x2e and \x2e\x2e. "" and
// "/" are the root. In a shell, a path without a leading slash begins in the working
// directory.
func ParsePath(cmd *cobra.Command, text string) ([]string, error) {
	var begin []string
	if s := sessionOf(cmd); s != nil {
		begin = s.path
	}
	path, err := resolve(begin, text)
	if err != nil {
		return nil, shell.Invalid(fmt.Errorf("the path %q: %w", text, err))
	}
	return path, nil
}

// SplitPath is [ParsePath] for a path from the root.
func SplitPath(text string) ([]string, error) {
	path, err := resolve(nil, text)
	if err != nil {
		return nil, fmt.Errorf("the path %q: %w", text, err)
	}
	return path, nil
}

// resolve returns the path that a text names, relative to a directory.
func resolve(begin []string, text string) ([]string, error) {
	path := append([]string{}, begin...)
	if rest, rooted := strings.CutPrefix(text, "/"); rooted {
		path, text = path[:0], rest
	}
	for rest, more := text, text != ""; more; {
		var raw string
		raw, rest, more = cutElement(rest)
		switch {
		case raw == "" && !more && len(text) > 0: // the slash at the end
		case raw == "":
			return nil, fmt.Errorf("an element is empty")
		case raw == ".":
		case raw == ".." && len(path) == 0:
			return nil, fmt.Errorf("there is nothing above the root")
		case raw == "..":
			path = path[:len(path)-1]
		default:
			name, err := unescape(raw)
			if err != nil {
				return nil, err
			}
			path = append(path, name)
		}
	}
	return path, nil
}

// cutElement returns the text before the first slash that is not escaped, and what
// follows it.
func cutElement(text string) (raw, rest string, more bool) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '/':
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// unescape returns the name that an element of a path stands for.
func unescape(raw string) (string, error) {
	var name strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			name.WriteByte(raw[i])
			continue
		}
		i++
		switch {
		case i < len(raw) && (raw[i] == '/' || raw[i] == '\\'):
			name.WriteByte(raw[i])
		case i+2 < len(raw) && raw[i] == 'x':
			b, err := strconv.ParseUint(raw[i+1:i+3], 16, 8)
			if err != nil {
				return "", fmt.Errorf(`\%s does not name a byte as \x0a does`, raw[i:i+3])
			}
			name.WriteByte(byte(b))
			i += 2
		default:
			return "", fmt.Errorf(`a backslash begins neither \/ nor \\ nor \xNN`)
		}
	}
	if !utf8.ValidString(name.String()) {
		return "", fmt.Errorf("an element is not UTF-8")
	}
	return name.String(), nil
}

// FormatPath returns the text of a path, which [ParsePath] reads: "/" for the root.
func FormatPath(path []string) string {
	if len(path) == 0 {
		return "/"
	}
	elements := make([]string, len(path))
	for i, name := range path {
		elements[i] = FormatElement(name)
	}
	return strings.Join(elements, "/")
}

// QuotePath returns the text of a path as an argument of a command line, for messages: it can
// be pasted after a verb.
func QuotePath(path []string) string {
	text := FormatPath(path)
	if strings.HasPrefix(text, "-") { // not a flag
		text = "/" + text
	}
	return shell.Argument(text)
}

// FormatElement returns the text of an element of a path.
func FormatElement(name string) string {
	if name == "." || name == ".." {
		return strings.ReplaceAll(name, ".", `\x2e`)
	}
	var b strings.Builder
	for rest := name; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		switch char := rest[:size]; {
		case r == '/', r == '\\':
			b.WriteString(`\` + char)
		case r == utf8.RuneError && size == 1, !unicode.IsPrint(r), r == ' ' && (len(rest) == 1 || b.Len() == 0):
			for _, c := range []byte(char) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		default:
			b.WriteString(char)
		}
		rest = rest[size:]
	}
	return b.String()
}

// CompletionTime bounds a completion: a shell waits for it. Tests, which a busy machine may
// make slow, set a longer one.
var CompletionTime = 2 * time.Second

// mostCompletions is how many names a completion offers.
const mostCompletions = 1000

// CompletePath completes the first argument of a verb as a path: a
// [cobra.Command.ValidArgsFunction].
func CompletePath(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return CompletePaths(cmd, args, word)
}

// CompletePaths completes each argument of a verb as a path.
func CompletePaths(cmd *cobra.Command, _ []string, word string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	above := word[:lastSlash(word)+1]
	path, err := ParsePath(cmd, above)
	if err != nil {
		return nil, directive
	}
	Complete(cmd, func(ctx context.Context, db *persistable.DB) error {
		names, err := db.Layer().ListAfter(ctx, db.Engine(), path, "", mostCompletions)
		for _, name := range names {
			if text := above + FormatElement(name) + "/"; strings.HasPrefix(text, word) {
				words = append(words, text)
			}
		}
		return err
	})
	return words, directive
}

// lastSlash returns the index of the last slash that is not escaped; -1 if there is
// none.
func lastSlash(text string) int {
	last := -1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '/':
			last = i
		}
	}
	return last
}

// Complete calls do with the database of a command that is being completed, if it can be
// opened. There is no place for errors: a completion that fails offers nothing.
func Complete(cmd *cobra.Command, do func(context.Context, *persistable.DB) error) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, CompletionTime)
	defer cancel()
	if s := sessionOf(cmd); s != nil {
		if s.checkFlags(cmd) != nil {
			return
		}
		if db, err := s.openStores(ctx, false); err == nil {
			_ = do(ctx, db)
		}
		return
	}
	s, err := NewSession(cmd)
	if err != nil {
		return
	}
	if db, err := s.openStores(ctx, false); err == nil {
		_ = do(ctx, db)
	}
	_ = s.Close()
}
