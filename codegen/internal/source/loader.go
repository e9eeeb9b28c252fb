// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"golang.org/x/tools/go/packages"
)

// Loader loads packages. Generated files are replaced by stubs, or, in a second
// load, by what is to be written.
type Loader struct {
	Ctx      context.Context
	Dir      string
	Tags     string
	Patterns []string
	Overlay  map[string][]byte
	roots    map[string]bool // folders whose function bodies are checked
}

func (l *Loader) config(mode packages.LoadMode) *packages.Config {
	config := &packages.Config{Context: l.Ctx, Dir: l.Dir, Mode: mode, Overlay: l.Overlay}
	if l.Tags != "" {
		config.BuildFlags = []string{"-tags=" + l.Tags}
	}
	return config
}

// PrepareStubs lists the packages without reading their source and prepares the stubs.
func (l *Loader) PrepareStubs() (map[string][]string, error) {
	l.Overlay = map[string][]byte{}
	ours := map[string][]string{}
	dirs := map[string]bool{l.Dir: true}
	l.roots = dirs
	found, err := packages.Load(l.config(packages.NeedName|packages.NeedFiles), l.Patterns...)
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
		files, err := stubs(dir, l.Overlay)
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

// Check type-checks the packages with the present overlay. Function bodies of
// other packages are left out: only their declarations matter.
func (l *Loader) Check(ours map[string][]string, f *diagnostic.List) ([]*Package, error) {
	fset := token.NewFileSet()
	config := l.config(packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
		packages.NeedDeps | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax | packages.NeedTypesSizes | packages.NeedModule)
	config.Fset = fset
	config.ParseFile = func(fset *token.FileSet, name string, source []byte) (*ast.File, error) {
		return parseFile(fset, name, source, l.roots[filepath.Dir(name)])
	}
	found, err := packages.Load(config, l.Patterns...)
	if err != nil {
		return nil, fmt.Errorf("persistgen: load packages: %w", err)
	}
	var list []*Package
	for _, p := range found {
		if len(p.GoFiles) == 0 && len(p.Errors) == 0 {
			continue
		}
		reportPackageErrors(p, f)
		list = append(list, newLoadedPackage(p, fset, ours))
	}
	if len(list) == 0 && len(f.Faults) == 0 {
		return nil, fmt.Errorf("persistgen: no Go packages match %s", strings.Join(l.Patterns, " "))
	}
	return list, nil
}
