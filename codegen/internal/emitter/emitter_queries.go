// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeQueryMethod writes one query method.
func (e *emitter) writeQueryMethod(r *model.Record, d *model.Index, i int, m model.QueryMethod) {
	switch m.Kind {
	case model.MethodUnique, model.MethodEqual, model.MethodRange, model.MethodOrdered:
		e.writeMethodComment(r, d, m)
		e.writeRecordMethod(r, i, m)
	case model.MethodUniqueRow, model.MethodEqualRows, model.MethodRangeRows, model.MethodOrderedRows:
		e.writeRowMethod(r, d, i, m)
	case model.MethodSearch:
		e.writeSearch(r, d, i, m)
	case model.MethodCall:
		e.writeCall(r, d, i, m)
	default:
		e.writeAggregateMethod(r, d, i, m)
	}
}

// writeRecordMethod writes a method that returns records.
func (e *emitter) writeRecordMethod(r *model.Record, i int, m model.QueryMethod) {
	parameters, names := e.methodParameters(m)
	persistable, persistimpl := e.importPackage(model.PersistablePath), e.importPackage(model.PersistimplPath)
	receiver := fmt.Sprintf("func (s *%s) %s", r.StoreType(), m.Name)
	switch m.Kind {
	case model.MethodUnique:
		e.printf("%s(%s) (*%s, error) {", receiver, e.withContext(parameters), e.recordType(r))
		e.printf("return %s.Unique(ctx, &s.Store, %d, %s)\n}\n", persistimpl, i, e.keyExpression(m.Equal, names))
	case model.MethodEqual:
		e.printf("%s(%s) *%s.Query[*%s] {", receiver, parameters, persistable, e.recordType(r))
		e.printf("return %s.Query(&s.Store, %d, %s)\n}\n", persistimpl, i, e.keyExpression(m.Equal, names))
	default:
		e.printf("%s(%s) *%s.RangeQuery[*%s, %s] {", receiver, parameters, persistable, e.recordType(r), e.componentType(m.Next))
		e.printf("return (*%s.RangeQuery[*%s, %s])(%s.%sRange(%s.Source(&s.Store), %d, %s, %s))\n}\n", persistable, e.recordType(r), e.componentType(m.Next),
			persistimpl, direction(m.Next), persistimpl, i, e.keyExpression(m.Equal, names), e.componentEncoder(m.Next))
	}
}

// direction begins the name of the function that reads a range of a component.
func direction(c *model.Component) string {
	if c.Descending {
		return "Descending"
	}
	return ""
}

// methodParameters lists the parameters of a method and their names, which the others
// follow.
func (e *emitter) methodParameters(m model.QueryMethod, others ...string) (list string, names []string) {
	names = e.componentParameters(m.Parameters(), others...)
	var parameters []string
	for n, c := range m.Parameters() {
		parameters = append(parameters, names[n]+" "+e.componentType(c))
	}
	return strings.Join(parameters, ", "), names
}

// withContext puts a context before parameters.
func (e *emitter) withContext(parameters string) string {
	ctx := "ctx " + e.importPackage("context") + ".Context"
	if parameters == "" {
		return ctx
	}
	return ctx + ", " + parameters
}

// writeMethodComment writes the doc comment of a query method.
func (e *emitter) writeMethodComment(r *model.Record, d *model.Index, m model.QueryMethod) {
	what := model.Values(m.Equal)
	switch m.Kind {
	case model.MethodUnique:
		e.printf("// %s returns the %s with %s, or %s.ErrNotFound.", m.Name, r.GoName, what, e.importPackage(model.PersistablePath))
	case model.MethodEqual:
		e.printf("// %s returns the records with %s, in the order of their IDs.", m.Name, what)
	case model.MethodRange:
		e.printf("// %s returns the records with %s, in the %s of %s; a range of it can be chosen.", m.Name, what, descent(m.Next), order(m.Next))
	case model.MethodOrdered:
		e.printf("// %s returns the records in the %s of %s; a range of it can be chosen.", m.Name, descent(m.Next), order(m.Next))
	}
	e.writeConditionComment(d)
}

// writeConditionComment says which records a partial index has.
func (e *emitter) writeConditionComment(d *model.Index) {
	if d.Where != nil {
		e.printf("// Only records that fulfil %s are taken into account.", d.Where.Text())
	}
}

// descent names the direction of a component.
func descent(c *model.Component) string {
	if c.Descending {
		return "descending order"
	}
	return "order"
}

// order names what the records of a method are sorted by.
func order(c *model.Component) string {
	if c.Slice {
		return "the elements of " + c.GoName() + ", a record once for each"
	}
	return c.GoName()
}

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
	overflow := fmt.Sprintf("// A sum that does not fit is a %s.ErrOverflow.", e.importPackage(model.PersistablePath))
	scope := model.Scope(m.Equal)
	switch m.Kind {
	case model.MethodCounts:
		e.printf("// %s yields each %s and the number of its records; those without records are left out.", m.Name, combination(d.Components))
	case model.MethodSum:
		e.printf("// %s returns the sum of %s of %s, in one read.\n%s", m.Name, of, scope, overflow)
	case model.MethodSums:
		e.printf("// %s yields each %s and the sum of %s of its records; sums that are 0 are left out.\n%s", m.Name, combination(d.Components), of, overflow)
	case model.MethodMin:
		e.printf("// %s returns the least %s of %s, and false if there is none.", m.Name, of, scope)
	case model.MethodMax:
		e.printf("// %s returns the greatest %s of %s, and false if there is none.", m.Name, of, scope)
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

// writeCall writes a method that returns what one function of the run-time returns.
func (e *emitter) writeCall(r *model.Record, d *model.Index, i int, m model.QueryMethod) {
	doc := strings.ReplaceAll(m.Doc, model.NotFound, e.importPackage(model.PersistablePath)+".ErrNotFound")
	e.printf("// %s %s", m.Name, strings.ReplaceAll(doc, "\n", "\n// "))
	e.writeConditionComment(d)
	parameters, names := e.methodParameters(m, m.Call.Reserved...)
	if m.Call.Parameter != "" {
		parameters = strings.TrimPrefix(parameters+", "+m.Call.Parameter+" "+m.Call.Type, ", ")
	}
	e.printf("func (s *%s) %s(%s) (%s, error) {", r.StoreType(), m.Name, e.withContext(parameters), e.resultType(r, m.Call.Result))
	arguments := []string{e.keyExpression(m.Equal, names)}
	if c := m.Call.Value; c != nil {
		arguments = append(arguments, e.componentKey(c, "nil", names[len(m.Equal)]))
	}
	if m.Call.Parameter != "" {
		arguments = append(arguments, m.Call.Parameter)
	}
	e.printf("return %s.%s(ctx, &s.Store, %d, %s)\n}\n", e.importPackage(model.PersistimplPath), m.Call.Function, i, strings.Join(arguments, ", "))
}

// writeSearch writes the method of a Search.
func (e *emitter) writeSearch(r *model.Record, d *model.Index, i int, m model.QueryMethod) {
	persistable := e.importPackage(model.PersistablePath)
	var names []string
	for _, c := range d.Components {
		names = append(names, c.GoName())
	}
	e.printf("// %s returns the records that match the words of a text in %s.", m.Name, strings.Join(names, " and "))
	e.writeConditionComment(d)
	e.printf("func (s *%s) %s(text string, match %s.Match) *%s.Query[*%s] {", r.StoreType(), m.Name, persistable, persistable, e.recordType(r))
	e.printf("return %s\n}\n", fmt.Sprintf("%s.Search(&s.Store, %d, text, match)", e.importPackage(model.TextPath), i))
}

// writeTexts writes the entries of a Search: those of the words of each text.
func (e *emitter) writeTexts(d *model.Index) {
	if d.Where != nil {
		e.printf("if %s {", d.Where.Condition())
	}
	for _, c := range d.Components {
		add := func(value string) { e.printf("%s.AddWords(e, %s)", e.importPackage(model.TextPath), value) }
		switch {
		case c.Slice:
			e.printf("for _, element := range %s {", c.Selector())
			add("element")
			e.printf("}")
		case c.Nullable:
			e.printf("if %s {", strings.ReplaceAll(strings.Join(c.NullConditions(), " && "), "==", "!="))
			add(c.Value())
			e.printf("}")
		default:
			add(c.Value())
		}
	}
	if d.Where != nil {
		e.printf("}")
	}
}

// resultType is the type that a call returns, with an error.
func (e *emitter) resultType(r *model.Record, result model.Result) string {
	switch result {
	case model.ResultRecord:
		return "*" + e.recordType(r)
	case model.ResultRecords:
		return "[]*" + e.recordType(r)
	}
	return string(result)
}

// writeGroupTypes writes the types of groups of several fields, with the functions that
// read them from keys.
func (e *emitter) writeGroupTypes(r *model.Record) {
	written := map[string]bool{}
	for _, d := range r.Indexes {
		name := model.GroupType(r, d.Components)
		if !d.HasGroups() || written[name] {
			continue
		}
		written[name] = true
		e.printf("// %s is a group of records: the values that they have in common.", name)
		e.printf("type %s struct {", name)
		for _, c := range d.Components {
			e.printf("%s %s", c.GoName(), e.componentType(c))
		}
		e.printf("}\n")
		e.writeGroupReader(name, d)
	}
}

// writeGroupReader writes the function that reads a group from a key.
func (e *emitter) writeGroupReader(name string, d *model.Index) {
	e.printf("// %s reads the values of a group from a key.", model.Reader(name))
	e.printf("func %s(b []byte) (v %s, rest []byte, err error) {", model.Reader(name), name)
	from := "b"
	for _, c := range d.Components {
		e.printf("if v.%s, rest, err = %s(%s); err != nil {\nreturn v, nil, err\n}", c.GoName(), e.componentDecoder(c), from)
		from = "rest"
	}
	e.printf("return v, rest, nil\n}\n")
}

// groupType is the type of the groups of a Count or Sum: that of its only field, or a
// struct.
func (e *emitter) groupType(r *model.Record, d *model.Index) string {
	if d.HasGroups() {
		return model.GroupType(r, d.Components)
	}
	return e.componentType(d.Components[0])
}

// groupReader is the function value that reads a group from a key.
func (e *emitter) groupReader(r *model.Record, d *model.Index) string {
	if d.HasGroups() {
		return model.Reader(model.GroupType(r, d.Components))
	}
	return e.componentDecoder(d.Components[0])
}

// componentDecoder is the function value that reads a component from a key.
func (e *emitter) componentDecoder(c *model.Component) string {
	decoder := e.keyDecoder(c.Element)
	if c.Nullable {
		decoder = fmt.Sprintf("%s.ReadNullable(%s)", e.importPackage(model.PersistimplPath), decoder)
	}
	if c.Descending {
		decoder = fmt.Sprintf("%s.ReadDescending(%s)", e.importPackage(model.PersistimplPath), decoder)
	}
	return decoder
}

// writeRowTypes writes the types of the rows of indexes that copy chosen fields, with the
// functions that read them from entries.
func (e *emitter) writeRowTypes(r *model.Record) {
	for _, d := range r.Indexes {
		if len(d.CoverFields) > 0 {
			e.writeRowType(r, d)
			e.writeRowReader(r, d)
		}
	}
}

// writeRowType writes the type of the rows of one index.
func (e *emitter) writeRowType(r *model.Record, d *model.Index) {
	e.printf("// %s is what the index %s has of a record.", d.RowType(r), d.Name)
	e.printf("type %s struct {", d.RowType(r))
	e.printf("%s %s", r.IDField.GoName, e.typeName(r.IDField.Kind.GoType))
	for _, c := range d.Components {
		e.printf("%s %s", c.GoName(), e.componentType(c))
	}
	for _, f := range d.CoverFields {
		e.printf("%s %s", f.GoName, e.typeName(f.Kind.GoType))
	}
	e.printf("}\n")
}

// writeRowReader writes the function that reads a row from an entry.
func (e *emitter) writeRowReader(r *model.Record, d *model.Index) {
	name := model.Reader(d.RowType(r))
	e.printf("// %s reads a row from an entry.", name)
	e.printf("func %s(row *%s.Row) (v %s, err error) {", name, e.importPackage(model.PersistimplPath), d.RowType(r))
	e.printf("s := &row.Strings")
	e.writeComponentReads(d)
	e.writeIDRead(r, d)
	e.printf("r := s.NewReader(row.Cover)")
	e.printf("for r.Next() {\nswitch r.Field() {")
	for _, f := range coveredFields(d) {
		e.printf("case %d:", f.Number)
		e.writeFieldDecoder(r.Message, &model.Field{GoName: f.GoName, Kind: f.Kind, Number: f.Number, Short: true})
	}
	e.printf("default:\nr.Skip()\n}\n}\nreturn v, r.Err()\n}\n")
}

// writeComponentReads reads the values of a row's index.
func (e *emitter) writeComponentReads(d *model.Index) {
	e.printf("rest := row.Values")
	for _, c := range d.Components {
		decoder := e.componentDecoder(c) + "("
		if c.Element.Form == model.FormString && !c.Nullable && !c.Descending {
			decoder = fmt.Sprintf("%s.ReadRowString[%s](row, ", e.importPackage(model.PersistimplPath), e.typeName(c.Element.GoType))
		}
		e.printf("if v.%s, rest, err = %srest); err != nil {\nreturn v, err\n}", c.GoName(), decoder)
	}
}

// writeIDRead reads the id and checks that the key ends there. The id follows the values,
// unless the index is unique.
func (e *emitter) writeIDRead(r *model.Record, d *model.Index) {
	from := "rest"
	if d.Unique {
		from = "row.ID"
	}
	e.printf("if v.%s, rest, err = %s(%s); err != nil {\nreturn v, err\n}", r.IDField.GoName, e.keyDecoder(r.IDField.Kind), from)
	e.printf("if err = %s.CheckEnd(rest); err != nil {\nreturn v, err\n}", e.importPackage(model.PersistimplPath))
}

// writeRowMethod writes a method that returns rows, where another of almost the same name
// returns the records.
func (e *emitter) writeRowMethod(r *model.Record, d *model.Index, i int, m model.QueryMethod) {
	parameters, names := e.methodParameters(m)
	persistable, persistimpl, row := e.importPackage(model.PersistablePath), e.importPackage(model.PersistimplPath), d.RowType(r)
	receiver := fmt.Sprintf("func (s *%s) %s", r.StoreType(), m.Name)
	if m.Kind == model.MethodUniqueRow {
		e.printf("// %s returns what the index has of the %s with %s, or %s.ErrNotFound. It does not read the record.",
			m.Name, r.GoName, model.Values(m.Equal), persistable)
		e.writeConditionComment(d)
		e.printf("%s(%s) (%s, error) {", receiver, e.withContext(parameters), row)
		key := e.keyExpression(m.Equal, names)
		e.printf("return %s.Rows(%s.Query(&s.Store, %d, %s), %s).First(ctx)\n}\n", persistimpl, persistimpl, i, key, model.Reader(d.RowType(r)))
		return
	}
	records := m.Name[:len(m.Name)-len("Rows")]
	result, function := fmt.Sprintf("RowQuery[%s]", row), "Rows"
	if m.Kind != model.MethodEqualRows {
		result, function = fmt.Sprintf("RowRange[%s, %s]", row, e.componentType(m.Next)), "RowRange"
	}
	e.printf("// %s is %s for what the index has of the records. It does not read them.", m.Name, records)
	e.writeConditionComment(d)
	e.printf("%s(%s) *%s.%s {", receiver, parameters, persistable, result)
	e.printf("return %s.%s(s.%s(%s), %s)\n}\n", persistimpl, function, records, strings.Join(names, ", "), model.Reader(d.RowType(r)))
}

// converted converts x unless its type is the basic one already.
func (e *emitter) converted(basic string, k *model.Kind, x string) string {
	if e.typeName(k.GoType) == basic {
		return x
	}
	return fmt.Sprintf("%s(%s)", basic, x)
}
