// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"go/types"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// checkMethods reports generated methods of one store that share a name, and those that
// would hide a method which all stores have.
func (c *collector) checkMethods(r *model.Record, indexes []*model.Index) {
	byName := map[string]*model.Index{}
	inherited := c.storeMethods()
	for _, d := range indexes {
		for _, m := range model.QueryMethods(d) {
			if inherited[m.Name] {
				c.Add(d.At, r.GoName, "the method %s would be generated for the index %s, but all stores have a method of that name; %s", m.Name, d.Name, renameRemedy(d, d))
				break
			}
			if first := byName[m.Name]; first != nil && first != d {
				c.Add(d.At, r.GoName, "the method %s would be generated for the indexes %s and %s; %s",
					m.Name, first.Name, d.Name, renameRemedy(d, first))
				break
			}
			byName[m.Name] = d
		}
	}
}

// renameRemedy says how a method gets another name. The option name= is part of the names
// of a partial index's methods.
func renameRemedy(d, other *model.Index) string {
	if d.Where != nil || other.Where != nil {
		return "give one that has a condition another name with name="
	}
	return "rename a field, keeping its name= for the stored data"
}

// storeMethods are the methods of persistable.Store, and what generated stores have besides.
func (c *collector) storeMethods() map[string]bool {
	names := map[string]bool{"Store": true, "In": true, "New": true}
	for _, imported := range c.pkg.Types.Imports() {
		if imported.Path() != model.PersistablePath {
			continue
		}
		store, ok := imported.Scope().Lookup("Store").(*types.TypeName)
		if !ok {
			continue
		}
		for method := range types.NewMethodSet(types.NewPointer(store.Type())).Methods() {
			names[method.Obj().Name()] = true
		}
	}
	return names
}
