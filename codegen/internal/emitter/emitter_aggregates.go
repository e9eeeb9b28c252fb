// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeAggregateMethod writes a method that returns a number or a value of a group of
// records.
func (e *emitter) writeAggregateMethod(r *model.Record, d *model.Index, i int, m model.QueryMethod) {
	e.writeAggregateComment(d, m)
	parameters, names := e.methodParameters(m)
	receiver := fmt.Sprintf("func (s *%s) %s(%s)", r.StoreType(), m.Name, e.withContext(parameters))
	call := func(verb, last string) string {
		return fmt.Sprintf("%s.%s(ctx, &s.Store, %d%s)", e.importPackage(model.PersistimplPath), verb, i, last)
	}
	switch m.Kind {
	case model.MethodCount:
		e.printf("%s (int64, error) {", receiver)
		e.printf("return %s\n}\n", call("Count", ", "+e.keyExpression(m.Equal, names)))
	case model.MethodSum:
		e.writeSum(receiver, d, func(verb string) string { return call(verb, ", "+e.keyExpression(m.Equal, names)) })
	case model.MethodCounts, model.MethodSums:
		verb, yielded, group := "Counts", "GroupCount", e.groupType(r, d)
		if m.Kind == model.MethodSums {
			sum, suffix := sumType(d)
			verb, yielded, group = "Sums"+suffix, "GroupSum", group+", "+sum
		}
		e.printf("%s %s.Seq2[%s.%s[%s], error] {", receiver, e.importPackage("iter"), e.importPackage(model.PersistablePath), yielded, group)
		e.printf("return %s\n}\n", call(verb, ", "+e.groupReader(r, d)))
	case model.MethodMin, model.MethodMax:
		verb := map[bool]string{true: "Min", false: "Max"}[m.Kind == model.MethodMin]
		e.printf("%s (%s, bool, error) {", receiver, e.typeName(m.Next.Element.GoType))
		e.printf("return %s\n}\n", call(verb, fmt.Sprintf(", %s, %s", e.keyExpression(m.Equal, names), e.keyDecoder(m.Next.Element))))
	}
}

// sumType is the type of a sum as run-time functions return it, and what their names end in.
func sumType(d *model.Index) (name, suffix string) {
	if d.Of.Element.Form == model.FormUint {
		return "uint64", "Uint"
	}
	return "int64", ""
}

// writeSum writes the method of one sum. That of durations is a duration.
func (e *emitter) writeSum(receiver string, d *model.Index, call func(verb string) string) {
	name, suffix := sumType(d)
	if d.Of.Element.Form != model.FormDuration {
		e.printf("%s (%s, error) {", receiver, name)
		e.printf("return %s\n}\n", call("Sum"+suffix))
		return
	}
	duration := e.importPackage("time") + ".Duration"
	e.printf("%s (%s, error) {", receiver, duration)
	e.printf("sum, err := %s\nreturn %s(sum), err\n}\n", call("Sum"), duration)
}

// writeAggregateComment writes the doc comment of an aggregate's method.
func (e *emitter) writeAggregateComment(d *model.Index, m model.QueryMethod) {
	of := ""
	if m.Next != nil {
		of = m.Next.GoName()
	}
	overflow := fmt.Sprintf("// A sum that does not fit is a *%s.OverflowError.", e.importPackage(model.PersistablePath))
	whose := "of all records"
	if len(m.Equal) > 0 {
		whose = "of the records with " + values(m.Equal)
	}
	switch m.Kind {
	case model.MethodCount:
		e.printf("// %s returns the number %s, in one read.", m.Name, whose)
	case model.MethodCounts:
		e.printf("// %s yields each %s and the number of its records; those without records are left out.", m.Name, combination(d.Components))
	case model.MethodSum:
		e.printf("// %s returns the sum of %s %s, in one read.\n%s", m.Name, of, whose, overflow)
	case model.MethodSums:
		e.printf("// %s yields each %s and the sum of %s of its records; sums that are 0 are left out.\n%s", m.Name, combination(d.Components), of, overflow)
	case model.MethodMin:
		e.printf("// %s returns the least %s %s, and false if there is none.", m.Name, of, whose)
	case model.MethodMax:
		e.printf("// %s returns the greatest %s %s, and false if there is none.", m.Name, of, whose)
	}
	e.writeConditionComment(d)
}

// combination names the groups of an aggregate.
func combination(group []*model.Component) string {
	if len(group) == 1 {
		return "value of " + group[0].GoName()
	}
	return "combination of values"
}
