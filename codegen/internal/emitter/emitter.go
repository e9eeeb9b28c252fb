// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"bytes"
	"fmt"
	"go/format"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
)

// emitter writes the parts of a generated file.
type emitter struct {
	*printer
	model *model.Package
	extra map[string]func() // functions for the end of the file, by name
}

// Code returns the generated file of a package. It also returns the predeclared names, such
// as len, that the file needs and the package hides: with those it does not compile.
func Code(p *model.Package) (content []byte, hidden []string, err error) {
	e := &emitter{printer: newPrinter(p), model: p}
	for _, r := range p.Records {
		e.writeRecord(r)
	}
	for _, m := range p.Messages {
		e.writeMessage(m)
	}
	for _, name := range slices.Sorted(maps.Keys(e.extra)) {
		e.extra[name]()
	}
	var out bytes.Buffer
	out.WriteString(output.GeneratedHeader + "\n\n")
	if p.Constraint != "" {
		fmt.Fprintf(&out, "//go:build %s\n\n", p.Constraint)
	}
	persistimpl := e.importPackage(model.PersistimplPath)
	fmt.Fprintf(&out, "package %s\n\n%s\n", p.Name, e.importDeclaration())
	fmt.Fprintf(&out, "// If this does not compile, run go generate: the file was generated for another\n// version of the run-time.\nconst _ = %s.Version5\n\n", persistimpl)
	out.Write(e.body.Bytes())
	named, hidden := e.nameVariables(out.Bytes())
	formatted, err := format.Source(named)
	if err != nil {
		return nil, nil, fmt.Errorf("persistgen: the generated code of %s does not parse, which is a fault of persistgen: %w", p.Path, err)
	}
	return formatted, hidden, nil
}

// writeRecord writes all that a persistable type has.
func (e *emitter) writeRecord(r *model.Record) {
	e.writeConstructor(r)
	e.writeStore(r)
	for i, d := range r.Indexes {
		for _, m := range model.QueryMethods(d) {
			e.writeQueryMethod(r, d, i, m)
		}
	}
	e.writeFieldsVar(r)
	e.writeGroupTypes(r)
	e.writeRowTypes(r)
	e.writeSchema(r)
}

// writeMessage writes the codec of a struct.
func (e *emitter) writeMessage(m *model.Message) {
	e.writeEncoder(m)
	e.writeDecoder(m)
	e.writeKnown(m)
}
