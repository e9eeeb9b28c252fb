// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Bound is a number of a module and the most that it may be.
type Bound struct {
	Name  string
	Value int
	Most  int      // -1: it has no bound
	Where []string // each finding, for those that are read one by one
}

// Met reports whether the number is within its bound.
func (b Bound) Met() bool { return b.Most < 0 || b.Value <= b.Most }

// perLines is the number of lines of comments in pebble. Where pebble has a word, its bound is how often.
const perLines = 52000

// wordBounds are words that are rare in plain English, and how often perLines lines of comments may have each.
var wordBounds = []struct {
	name    string
	pattern *regexp.Regexp
	except  *regexp.Regexp // matches that are plain English
	most    int
}{
	{"whose", regexp.MustCompile(`(?i)\bwhose\b`), nil, 55},
	{"behind", regexp.MustCompile(`(?i)\bbehind\b`), nil, 32},
	{"beside", regexp.MustCompile(`(?i)\bbeside\b`), nil, 0},
	{"meanwhile", regexp.MustCompile(`(?i)\bmeanwhile\b`), nil, 1},
	{"is no", regexp.MustCompile(`(?i)(there\s+)?\bis\s+no\s+[a-z]+`), regexp.MustCompile(`(?i)^there\s|is\s+no\s+(longer|more|less|such)`), 0},
	{", also if", regexp.MustCompile(`, also\s+(if|when|after)\b`), nil, 0},
}

// Bounds returns the numbers of a module that have a bound. Only the words are counted in tests, too.
func Bounds(files []*File) []Bound {
	code := WithoutTests(files)
	all := wordCounts(files)
	all = append(all, Bound{Name: "files", Value: len(code), Most: 1100})
	folders := byFolder(code)
	public := map[string][]*File{}
	for folder, of := range folders {
		if isPublic(of[0]) {
			public[folder] = of
		}
	}
	types := exportedTypes(public)
	return append(all,
		Bound{Name: "packages", Value: len(folders), Most: -1},
		Bound{Name: "public packages", Value: len(public), Most: 50},
		Bound{Name: "exported types of public packages", Value: len(types), Most: 350},
		listed("exported error types of public packages", 30, slices.DeleteFunc(types, func(name string) bool { return !strings.HasSuffix(name, "Error") })),
		listed("types with methods in more than four files", 5, spreadTypes(code)),
		listed("folders with more than 20 files", 8, crowdedFolders(folders)),
		listed("files over 450 lines", 0, longFiles(code)),
		Bound{Name: "lines of code without examples", Value: codeLines(code), Most: 110_000},
	)
}

func listed(name string, most int, where []string) Bound {
	return Bound{Name: name, Value: len(where), Most: most, Where: where}
}

// wordCounts counts each of wordBounds, for perLines lines of comments, rounded to the nearest number.
func wordCounts(files []*File) []Bound {
	counts := make([]Bound, len(wordBounds))
	lines := 0
	for _, f := range files {
		for _, group := range f.Syntax.Comments {
			text := group.Text()
			lines += strings.Count(text, "\n")
			for i, w := range wordBounds {
				for _, at := range w.pattern.FindAllStringIndex(text, -1) {
					if w.except != nil && w.except.MatchString(text[at[0]:at[1]]) {
						continue
					}
					line := f.position(group.Pos()).Line + strings.Count(text[:at[0]], "\n")
					counts[i].Where = append(counts[i].Where, fmt.Sprintf("%s:%d", f.Path, line))
				}
			}
		}
	}
	for i, w := range wordBounds {
		counts[i].Name, counts[i].Most = w.name+" in 52,000 lines of comments", w.most
		counts[i].Value = (len(counts[i].Where)*perLines + lines/2) / max(lines, 1)
	}
	return counts
}

func byFolder(files []*File) map[string][]*File {
	folders := map[string][]*File{}
	for _, f := range files {
		folders[f.Package] = append(folders[f.Package], f)
	}
	return folders
}

// isPublic reports whether other modules may import the package of a file. Examples and commands do not count.
func isPublic(f *File) bool {
	elements := strings.Split(f.Package, "/")
	return f.Syntax.Name.Name != "main" && !slices.Contains(elements, "internal") && elements[0] != "cmd" && !isExample(f)
}

func isExample(f *File) bool {
	return strings.HasPrefix(f.Path, "examples/") || strings.HasPrefix(f.Path, "bench/")
}

// exportedTypes returns the exported types of packages, as folder.Type.
func exportedTypes(folders map[string][]*File) []string {
	var types []string
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		for _, f := range folders[folder] {
			for _, decl := range f.Syntax.Decls {
				types = append(types, declaredTypes(folder, decl)...)
			}
		}
	}
	return types
}

func declaredTypes(folder string, decl ast.Decl) (types []string) {
	group, ok := decl.(*ast.GenDecl)
	if !ok || group.Tok != token.TYPE {
		return nil
	}
	for _, spec := range group.Specs {
		if name := spec.(*ast.TypeSpec).Name; name.IsExported() {
			types = append(types, folder+"."+name.Name)
		}
	}
	return types
}

// spreadTypes returns the types that have methods in more than four files.
func spreadTypes(files []*File) []string {
	homes := map[string]map[string]bool{}
	for _, m := range Methods(files) {
		name := path.Dir(m.Path) + "." + m.Type
		if homes[name] == nil {
			homes[name] = map[string]bool{}
		}
		homes[name][m.Path] = true
	}
	var spread []string
	for _, name := range slices.Sorted(maps.Keys(homes)) {
		if n := len(homes[name]); n > 4 {
			spread = append(spread, fmt.Sprintf("%s: methods in %d files", name, n))
		}
	}
	return spread
}

func crowdedFolders(folders map[string][]*File) []string {
	var crowded []string
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if n := len(folders[folder]); n > 20 {
			crowded = append(crowded, fmt.Sprintf("%s: %d files", folder, n))
		}
	}
	return crowded
}

func longFiles(files []*File) []string {
	var long []string
	for _, l := range FileLengths(files) {
		if l.Lines > 450 {
			long = append(long, fmt.Sprintf("%s: %d lines", l.Name, l.Lines))
		}
	}
	return long
}

func codeLines(files []*File) (n int) {
	for _, f := range files {
		if !isExample(f) {
			n += f.CodeLines
		}
	}
	return n
}
