// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"go/token"
	"go/types"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// findHooks finds the methods of a record that the run-time calls, those of embedded
// structs included, and refuses those that it could not call.
func (c *collector) findHooks(r *model.Record) {
	set := types.NewMethodSet(types.NewPointer(r.Message.Named))
	for _, hook := range model.Hooks() {
		selection := set.Lookup(r.Message.Named.Obj().Pkg(), string(hook))
		if selection == nil || selection.Kind() != types.MethodVal {
			continue
		}
		method := selection.Obj().(*types.Func)
		if !hasMethod(set, string(hook), "func() error") {
			c.Add(c.hookPosition(r, method), r.GoName, "%s%s has the name of a method that is called before a record is written: "+
				"write func (v *%s) %s() error, or rename the method", hook, c.signatureOf(method), r.GoName, hook)
			continue
		}
		if _, byPointer := method.Signature().Recv().Type().(*types.Pointer); hook.Sets() && !byPointer && !types.IsInterface(method.Signature().Recv().Type()) {
			c.Add(c.hookPosition(r, method), r.GoName, "%s has a value as its receiver, so the fields that it sets are those of a copy: "+
				"write func (v *%s) %s() error", hook, r.GoName, hook)
			continue
		}
		r.Hooks = append(r.Hooks, hook)
	}
}

// hookPosition is where a method is declared, or the record if that is in another package.
func (c *collector) hookPosition(r *model.Record, method *types.Func) token.Position {
	if c.isOutside(method.Pkg()) {
		return r.At
	}
	return c.loaded.Position(method.Pos())
}

// signatureOf writes the parameters and results of a method.
func (c *collector) signatureOf(method *types.Func) string {
	return c.typeText(method.Signature())[len("func"):]
}
