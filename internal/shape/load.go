// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is a Go file that people wrote.
type File struct {
	// Path is relative to the folder that was loaded, with slashes.
	Path string
	// Package is the folder of the file.
	Package string

	// CodeLines is the number of lines with more than comments.
	CodeLines int

	Set    *token.FileSet
	Syntax *ast.File
}

// Test reports whether only tests compile the file.
func (f *File) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// stem is the name of the file without its endings.
func (f *File) stem() string {
	name := strings.TrimSuffix(path.Base(f.Path), ".go")
	return strings.TrimSuffix(name, "_test")
}

// Load parses all files below a folder but generated ones, and those in folders
// named testdata or with a name that begins with a dot or an underscore. It returns
// them in the order of their paths.
func Load(folder string) ([]*File, error) {
	set := token.NewFileSet()
	var files []*File
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(name != folder, entry.Name())
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(syntax) {
			return err
		}
		f := newFile(folder, name, set, syntax)
		f.CodeLines = countCode(source)
		files = append(files, f)
		return nil
	})
	slices.SortFunc(files, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}

// enter returns [fs.SkipDir] for a folder that holds no code of the project.
func enter(below bool, name string) error {
	if below && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
		return fs.SkipDir
	}
	return nil
}

func newFile(folder, name string, set *token.FileSet, syntax *ast.File) *File {
	relative, err := filepath.Rel(folder, name)
	if err != nil { // both come from one walk
		relative = name
	}
	relative = filepath.ToSlash(relative)
	return &File{Path: relative, Package: path.Dir(relative), Set: set, Syntax: syntax}
}

// position is where a node is, as path:line.
func (f *File) position(at token.Pos) Position {
	return Position{Path: f.Path, Line: f.Set.Position(at).Line}
}

// countCode returns the number of lines that have a token. A string of several lines counts whole.
func countCode(source []byte) (n int) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, nil, 0)
	for last := 0; ; {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue // the scanner has inserted it
		}
		begin := file.Line(pos)
		end := begin + strings.Count(literal, "\n")
		n += end - max(begin-1, last)
		last = end
	}
}

// Position is a line of a file.
type Position struct {
	Path string
	Line int
}

func (p Position) String() string { return fmt.Sprintf("%s:%d", p.Path, p.Line) }
