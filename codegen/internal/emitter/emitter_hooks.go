// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeSchemaHooks writes the calls of the methods that the record has for them.
func (e *emitter) writeSchemaHooks(r *model.Record) {
	if len(r.Hooks) == 0 {
		return
	}
	e.printf("Hooks: %s.Hooks{", e.importPackage(model.PersistimplPath))
	for _, hook := range r.Hooks {
		e.printf("%s: func(record any) error { return record.(*%s).%s() },", hook, e.recordType(r), hook)
	}
	e.printf("},")
}
