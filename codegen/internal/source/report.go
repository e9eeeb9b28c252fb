// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"golang.org/x/tools/go/packages"
)

// reportErrors records the faults that leave no usable source: files that do not
// parse, imports that are not found. Of packages that are only imported it reports
// those of modules that the user edits, and those that go list found.
func (c *checker) reportErrors(f *diagnostic.List) {
	for p, one := range c.checked {
		list := p.Errors
		if c.roots[p] || isEdited(p.Module) {
			list = append(list[:len(list):len(list)], one.packageErrors()...)
		}
		for _, fault := range list {
			if imported, found := notVendored(fault); found {
				f.Note(c.position(fault, p), "the folder vendor lacks %s, which generated code imports: run go mod vendor", imported)
				continue
			}
			f.Add(c.position(fault, p), "", "%s", oneLine(fault.Msg))
		}
	}
}

// notVendored reports whether generated code imports a package that is not in the folder
// vendor, and which: before the first generation nothing imports it, so go mod vendor
// leaves it out.
func notVendored(fault packages.Error) (path string, found bool) {
	file, _, _ := cutPosition(fault.Pos)
	rest, missing := strings.CutPrefix(fault.Msg, "cannot find module providing package ")
	path, _, lookedUp := strings.Cut(rest, ": ")
	return path, missing && lookedUp && strings.Contains(rest, "-mod=vendor") && strings.HasSuffix(file, output.GeneratedSuffix)
}

// oneLine joins the lines of a message: editors read each line as a fault.
func oneLine(message string) string { return strings.Join(strings.Fields(message), " ") }

// position is where an error of go list is: in the file that it names, or at the
// beginning of the package.
func (l *Loader) position(one packages.Error, p *packages.Package) token.Position {
	if one.Pos != "" && one.Pos != "-" {
		return parsePosition(one.Pos, l.Dir, p.Dir)
	}
	for _, files := range [][]string{p.GoFiles, p.IgnoredFiles, p.OtherFiles} {
		if len(files) > 0 {
			return token.Position{Filename: files[0], Line: 1}
		}
	}
	return token.Position{Filename: p.Dir}
}

// parsePosition reads "file:line:col" as go list writes it: relative to the folder
// in which it runs, or to that of the package.
func parsePosition(text string, dirs ...string) token.Position {
	var at token.Position
	var rest string
	at.Filename, rest, _ = cutPosition(text)
	_, _ = fmt.Sscanf(rest, "%d:%d", &at.Line, &at.Column)
	if filepath.IsAbs(at.Filename) {
		return at
	}
	for _, dir := range dirs {
		if file := filepath.Join(dir, at.Filename); exists(file) {
			at.Filename = file
			return at
		}
	}
	at.Filename = filepath.Join(dirs[len(dirs)-1], filepath.Base(at.Filename))
	return at
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// cutPosition splits a position behind ".go".
func cutPosition(text string) (file, rest string, found bool) {
	if i := strings.LastIndex(text, ".go:"); i >= 0 {
		return text[:i+3], text[i+4:], true
	}
	return text, "", false
}

// moduleError is a line of go list about a go.mod or go.work.
var moduleError = regexp.MustCompile(`(?m)^(.*\bgo\.(?:mod|work)):(\d+)(?::(\d+))?: (.+)$`)

// reportModuleErrors records what go list says about lines of go.mod and go.work. It
// returns any other error.
func (l *Loader) reportModuleErrors(doing string, err error, f *diagnostic.List) error {
	if err == nil {
		return nil
	}
	if ended := l.Ctx.Err(); ended != nil {
		return fmt.Errorf("persistgen: %s: %w", doing, ended)
	}
	found := moduleError.FindAllStringSubmatch(err.Error(), -1)
	for _, words := range found {
		at := token.Position{Filename: words[1]}
		if !filepath.IsAbs(at.Filename) {
			at.Filename = filepath.Join(l.Dir, at.Filename)
		}
		_, _ = fmt.Sscan(words[2], &at.Line)
		_, _ = fmt.Sscan(words[3], &at.Column)
		f.Add(at, "", "%s", strings.TrimSpace(words[4]))
	}
	if len(found) == 0 {
		return fmt.Errorf("persistgen: %s: %w", doing, err)
	}
	return nil
}
