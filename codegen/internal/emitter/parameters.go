// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"go/token"
	"go/types"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// packageNames are the names of the packages that generated functions use in
// their bodies: the run-time's, and those of the fields' types. Parameters
// must not hide them.
func packageNames(p *model.Package) map[string]bool {
	names := map[string]bool{"persistable": true, "persistimpl": true, "index": true, "idgen": true, "strconv": true, "iter": true}
	for _, m := range p.Messages {
		for _, s := range m.Literal {
			addPackageNames(s, names)
		}
	}
	return names
}

func addPackageNames(s *model.Slot, names map[string]bool) {
	types.TypeString(s.Type, func(p *types.Package) string {
		names[p.Name()] = true
		return ""
	})
	for _, inner := range s.Embedded {
		addPackageNames(inner, names)
	}
}

// parameterNames spells names as parameters that hide no package, type, keyword
// or predeclared identifier, none of the names given, and not each other.
func parameterNames(p *model.Package, goNames []string, others ...string) []string {
	packages, taken := packageNames(p), map[string]bool{}
	for _, name := range others {
		taken[name] = true
	}
	names := make([]string, len(goNames))
	for i, goName := range goNames {
		name := model.Unexported(goName)
		_, hidesType := p.Types.Scope().Lookup(name).(*types.TypeName)
		if token.IsKeyword(name) || types.Universe.Lookup(name) != nil || taken[name] || packages[name] || hidesType {
			name += "Value"
		}
		names[i] = model.FreeName(name, taken)
	}
	return names
}
