// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// loadedPackage is a type-checked package with what the collector asks of its
// source.
type loadedPackage struct {
	name, path, dir string
	fset            *token.FileSet
	files           []*ast.File
	types           *types.Package
	info            *types.Info
	typeErrors      []types.Error
	fields          map[token.Pos]*ast.Field
	structs         map[token.Pos]*ast.TypeSpec
	constraints     map[string]string // file name → build constraint
	generated       []string          // files of ours that take part in the build
}

// position is where p stands in the source.
func (l *loadedPackage) position(p token.Pos) token.Position { return l.fset.Position(p) }

// declares reports whether an identifier is in the package's own files.
func (l *loadedPackage) declares(ident *ast.Ident) bool {
	return slices.ContainsFunc(l.files, func(f *ast.File) bool {
		return f.FileStart <= ident.Pos() && ident.Pos() < f.FileEnd
	})
}

// loader loads packages. Generated files are replaced by stubs, or, in a second
// load, by what is to be written.
type loader struct {
	ctx      context.Context
	dir      string
	tags     string
	patterns []string
	overlay  map[string][]byte
	roots    map[string]bool // folders whose function bodies are checked
}

func (l *loader) config(mode packages.LoadMode) *packages.Config {
	config := &packages.Config{Context: l.ctx, Dir: l.dir, Mode: mode, Overlay: l.overlay}
	if l.tags != "" {
		config.BuildFlags = []string{"-tags=" + l.tags}
	}
	return config
}

// find lists the packages without reading their source and prepares the stubs.
func (l *loader) find() (map[string][]string, error) {
	l.overlay = map[string][]byte{}
	ours := map[string][]string{}
	dirs := map[string]bool{l.dir: true}
	l.roots = dirs
	found, err := packages.Load(l.config(packages.NeedName|packages.NeedFiles), l.patterns...)
	if err != nil {
		return nil, fmt.Errorf("persistgen: list packages: %w", err)
	}
	active := map[string]bool{}
	for _, p := range found {
		if p.Dir != "" {
			dirs[p.Dir] = true
		}
		for _, file := range p.GoFiles {
			dirs[filepath.Dir(file)] = true
			active[file] = true
		}
	}
	for dir := range dirs {
		files, err := stubs(dir, l.overlay)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if active[file] || brokenClause(file) {
				ours[dir] = append(ours[dir], file)
			}
		}
	}
	return ours, nil
}

// check type-checks the packages with the present overlay. Function bodies of
// other packages are left out: only their declarations matter.
func (l *loader) check(ours map[string][]string, f *faults) ([]*loadedPackage, error) {
	fset := token.NewFileSet()
	config := l.config(packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
		packages.NeedDeps | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax | packages.NeedTypesSizes | packages.NeedModule)
	config.Fset = fset
	config.ParseFile = func(fset *token.FileSet, name string, source []byte) (*ast.File, error) {
		return parseFile(fset, name, source, l.roots[filepath.Dir(name)])
	}
	found, err := packages.Load(config, l.patterns...)
	if err != nil {
		return nil, fmt.Errorf("persistgen: load packages: %w", err)
	}
	var list []*loadedPackage
	for _, p := range found {
		if len(p.GoFiles) == 0 && len(p.Errors) == 0 {
			continue
		}
		reportPackageErrors(p, f)
		list = append(list, newLoadedPackage(p, fset, ours))
	}
	if len(list) == 0 && len(f.list) == 0 {
		return nil, fmt.Errorf("persistgen: no Go packages match %s", strings.Join(l.patterns, " "))
	}
	return list, nil
}

// parseFile parses a file, without function bodies unless whole is asked for.
func parseFile(fset *token.FileSet, name string, source []byte, whole bool) (*ast.File, error) {
	if whole {
		return parser.ParseFile(fset, name, source, parser.SkipObjectResolution|parser.ParseComments)
	}
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if file == nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			f.Body = &ast.BlockStmt{}
		}
	}
	return file, err
}

// reportPackageErrors records the faults that leave no usable source: files
// that do not parse, imports that are not found. Type errors are judged later.
func reportPackageErrors(p *packages.Package, f *faults) {
	for _, one := range p.Errors {
		if one.Kind == packages.TypeError {
			continue
		}
		f.add(parsePosition(one.Pos, p.Dir), "", "%s", strings.TrimSpace(one.Msg))
	}
}

// parsePosition reads "file:line:col" as go list writes it.
func parsePosition(text, dir string) token.Position {
	at := token.Position{Filename: dir}
	if text == "" || text == "-" {
		return at
	}
	var rest string
	at.Filename, rest, _ = cutPosition(text)
	if !filepath.IsAbs(at.Filename) {
		at.Filename = filepath.Join(dir, filepath.Base(at.Filename))
	}
	_, _ = fmt.Sscanf(rest, "%d:%d", &at.Line, &at.Column)
	return at
}

// cutPosition splits a position behind ".go".
func cutPosition(text string) (file, rest string, found bool) {
	if i := strings.LastIndex(text, ".go:"); i >= 0 {
		return text[:i+3], text[i+4:], true
	}
	return text, "", false
}

func newLoadedPackage(p *packages.Package, fset *token.FileSet, ours map[string][]string) *loadedPackage {
	l := &loadedPackage{
		name: p.Name, path: p.PkgPath, dir: p.Dir, fset: fset, files: p.Syntax,
		types: p.Types, info: p.TypesInfo, typeErrors: p.TypeErrors,
		fields: fieldsByPosition(p.Syntax), structs: map[token.Pos]*ast.TypeSpec{},
		constraints: map[string]string{}, generated: ours[p.Dir],
	}
	if l.dir == "" && len(p.GoFiles) > 0 {
		l.dir = filepath.Dir(p.GoFiles[0])
	}
	for _, file := range p.Syntax {
		l.constraints[fset.Position(file.FileStart).Filename] = constraintOf(fset, file)
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				l.structs[s.Name.Pos()] = s
			}
			return true
		})
	}
	return l
}

// stubs adds to overlay an empty file for each generated file in dir, whatever
// is in it, and returns the files.
func stubs(dir string, overlay map[string][]byte) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+generatedSuffix))
	if err != nil {
		return nil, fmt.Errorf("persistgen: list %s: %w", dir, err)
	}
	var ours []string
	for _, file := range files {
		old, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("persistgen: read the old output: %w", err)
		}
		if isGenerated(old) {
			overlay[file] = stub(old, packageClause(dir, file))
			ours = append(ours, file)
		}
	}
	return ours, nil
}

// broken reports whether the package has type errors.
func (l *loadedPackage) broken() bool { return len(l.typeErrors) > 0 }

// inField reports whether a position is in the declaration of a struct field.
func (l *loadedPackage) inField(p token.Pos) bool {
	for _, f := range l.fields {
		if f.Pos() <= p && p < f.End() {
			return true
		}
	}
	return false
}
