// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/token"
	"go/types"
	"maps"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
)

// Dependencies keeps the packages that loaded packages import, type-checked, so
// that the next load need not check them again. It keeps packages of the standard
// library and of other modules only: their files do not change meanwhile, or, where a
// folder replaces a module, show it by their times and sizes. Several loaders may share
// it, and use it concurrently.
type Dependencies struct {
	fset *token.FileSet // one for all, because packages name positions in it

	mu   sync.Mutex
	kept map[string]dependency // by path and files
}

// dependency is a package with those that it imports: it is good only for a load
// that has the same ones.
type dependency struct {
	types   *types.Package
	imports map[string]*types.Package
	stamp   string
}

// NewDependencies returns an empty set.
func NewDependencies() *Dependencies {
	return &Dependencies{fset: token.NewFileSet(), kept: map[string]dependency{}}
}

// find returns the package if it is kept with the same imports, or nil.
func (d *Dependencies) find(p *packages.Package, imports map[string]*types.Package) *types.Package {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one, found := d.kept[dependencyKey(p)]; found && maps.Equal(one.imports, imports) && one.stamp == stamp(p) {
		return one.types
	}
	return nil
}

// keep keeps a package that had that stamp before it was read, unless another load kept
// it first with the same imports. It returns the one that is kept.
func (d *Dependencies) keep(p *packages.Package, t *types.Package, imports map[string]*types.Package, stamp string) *types.Package {
	if first := d.find(p, imports); first != nil {
		return first
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept[dependencyKey(p)] = dependency{t, imports, stamp}
	return t
}

// IsLarge reports whether the positions of all files that were read take so much memory
// that it is time to begin with an empty set: those of former versions stay.
func (d *Dependencies) IsLarge() bool { return d.fset.Base() > 256<<20 }

func dependencyKey(p *packages.Package) string {
	return p.PkgPath + "\x00" + strings.Join(p.GoFiles, "\x00")
}
