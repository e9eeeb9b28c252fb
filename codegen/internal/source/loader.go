// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"go/build"
	"path/filepath"
	"slices"
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
	Env      []string // of the go command; nil is the process's

	// Dependencies are those of earlier loads. A loader without makes its own.
	Dependencies *Dependencies

	// Workspace is what a Check found that may change while persistgen runs.
	Workspace Workspace

	folders map[string]bool // those of the packages: function bodies are checked there only
}

func (l *Loader) config(mode packages.LoadMode) *packages.Config {
	config := &packages.Config{Context: l.Ctx, Dir: l.Dir, Mode: mode, Overlay: l.Overlay, Env: l.Env}
	if l.Tags != "" {
		config.BuildFlags = []string{"-tags=" + l.Tags}
	}
	return config
}

// PrepareStubs lists the packages without reading their source and prepares the stubs.
func (l *Loader) PrepareStubs(f *diagnostic.List) (map[string][]string, error) {
	l.Overlay = map[string][]byte{}
	ours := map[string][]string{}
	dirs := map[string]bool{l.Dir: true}
	l.folders = dirs
	found, err := packages.Load(l.config(packages.NeedName|packages.NeedFiles), l.Patterns...)
	if err != nil {
		return nil, l.reportModuleErrors("list packages", err, f)
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

// Check type-checks the packages with the present overlay, and reports the faults
// that leave some of them unusable. Function bodies of other packages are left out:
// only their declarations matter.
func (l *Loader) Check(ours map[string][]string, f *diagnostic.List) ([]*Package, error) {
	found, err := packages.Load(l.config(packages.NeedName|packages.NeedFiles|packages.NeedImports|
		packages.NeedDeps|packages.NeedTypesSizes|packages.NeedModule), l.Patterns...)
	if err != nil {
		return nil, l.reportModuleErrors("load packages", err, f)
	}
	if l.Dependencies == nil {
		l.Dependencies = NewDependencies()
	}
	l.Workspace = findWorkspace(found)
	c := newChecker(l, found)
	var list []*Package
	for _, p := range found {
		one := c.check(p)
		if err := l.Ctx.Err(); err != nil {
			return nil, fmt.Errorf("persistgen: load packages: %w", err)
		}
		list = append(list, newPackage(p, one, l.Dependencies.fset, ours))
	}
	c.reportErrors(f)
	if len(f.Faults) > 0 || slices.ContainsFunc(list, func(p *Package) bool { return !p.Unusable }) {
		return list, nil
	}
	patterns := strings.Join(l.Patterns, " ")
	if len(list) > 0 {
		return nil, fmt.Errorf("persistgen: %s has no Go files but tests; types with persist tags belong into a file that is no test", patterns)
	}
	return nil, fmt.Errorf("persistgen: no Go packages match %s", patterns)
}

// LeftOut returns what files of the packages and of the folders of patterns such as ./...
// declare that the load left out.
func (l *Loader) LeftOut(loaded []*Package) (list []LeftOut) {
	dirs := map[string]bool{}
	for _, p := range loaded {
		dirs[p.Dir] = true
		list = append(list, p.LeftOut...)
	}
	for _, pattern := range l.Patterns {
		if dir, found := strings.CutSuffix(pattern, "..."); found && (dir == "" || build.IsLocalImport(dir)) {
			list = append(list, leftOutBelow(filepath.Join(l.Dir, dir), dirs)...)
		}
	}
	return list
}
