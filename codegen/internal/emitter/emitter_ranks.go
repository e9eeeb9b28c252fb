// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeRankMethod writes a method of a Rank.
func (e *emitter) writeRankMethod(r *model.Record, d *model.Index, i int, m model.QueryMethod) {
	e.writeRankComment(d, m)
	parameters, names := e.methodParameters(m, "n", "p")
	receiver := fmt.Sprintf("func (s *%s) %s", r.StoreType(), m.Name)
	call := func(verb, last string) string {
		return fmt.Sprintf("%s.%s(ctx, &s.Store, %d, %s)", e.importPackage(model.PersistimplPath), verb, i, last)
	}
	last := func(parameter string) string {
		if parameters == "" {
			return e.withContext(parameter)
		}
		return e.withContext(parameters + ", " + parameter)
	}
	switch m.Kind {
	case model.MethodRankOf:
		e.printf("%s(%s) (int64, error) {", receiver, e.withContext(parameters))
		n := len(m.Equal) - 1
		score := e.componentKey(m.Equal[n], "nil", names[n])
		e.printf("return %s\n}\n", call("RankOf", e.keyExpression(m.Equal[:n], names[:n])+", "+score))
	case model.MethodNth:
		e.printf("%s(%s) (*%s, error) {", receiver, last("n int64"), e.recordType(r))
		e.printf("return %s\n}\n", call("Nth", e.keyExpression(m.Equal, names)+", n"))
	case model.MethodTop:
		e.printf("%s(%s) ([]*%s, error) {", receiver, last("n int"), e.recordType(r))
		e.printf("return %s\n}\n", call("Top", e.keyExpression(m.Equal, names)+", n"))
	case model.MethodPercentile:
		e.printf("%s(%s) (*%s, error) {", receiver, last("p float64"), e.recordType(r))
		e.printf("return %s\n}\n", call("Percentile", e.keyExpression(m.Equal, names)+", p"))
	}
}

// writeRankComment writes the doc comment of a Rank's method.
func (e *emitter) writeRankComment(d *model.Index, m model.QueryMethod) {
	score := d.Components[len(d.Components)-1].GoName()
	whose := "all records"
	if group := d.Group(); len(group) > 0 {
		whose = "the records with " + values(group)
	}
	notFound := e.importPackage(model.PersistablePath) + ".ErrNotFound"
	switch m.Kind {
	case model.MethodRankOf:
		e.printf("// %s returns how many of %s have a lesser %s: 0 for the least.", m.Name, whose, score)
	case model.MethodNth:
		e.printf("// %s returns the record that has n of %s before it, by %s and then by ID: n = 0 for the\n// one with the least; or %s.", m.Name, whose, score, notFound)
	case model.MethodTop:
		e.printf("// %s returns n of %s: those with the greatest %s, the greatest first. An n below 1 is an error.", m.Name, whose, score)
	case model.MethodPercentile:
		e.printf("// %s returns the first record, by %s and then by ID, such that at least p percent of\n// %s do not come after it; p is from 0 to 100. Without records: %s.", m.Name, score, whose, notFound)
	}
	e.writeConditionComment(d)
}
