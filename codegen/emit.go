// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"fmt"
	"go/format"
	"maps"
	"slices"
)

// emit returns the generated file of a package.
func emit(p *pkg) ([]byte, error) {
	e := &emitter{printer: newPrinter(p), model: p}
	for _, r := range p.records {
		e.record(r)
	}
	for _, m := range p.messages {
		e.message(m)
	}
	for _, name := range slices.Sorted(maps.Keys(e.extra)) {
		e.extra[name]()
	}
	var out bytes.Buffer
	out.WriteString(generatedHeader + "\n\n")
	if p.constraint != "" {
		fmt.Fprintf(&out, "//go:build %s\n\n", p.constraint)
	}
	persistimpl := e.pkg(persistimplPath)
	fmt.Fprintf(&out, "package %s\n\n%s\n", p.name, e.imports())
	fmt.Fprintf(&out, "// If this does not compile, run go generate: the file was generated for another\n// version of the run-time.\nconst _ = %s.Version2\n\n", persistimpl)
	out.Write(e.body.Bytes())
	formatted, err := format.Source(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("persistgen: the generated code of %s does not parse, which is a fault of persistgen: %w", p.path, err)
	}
	return formatted, nil
}

// emitter writes the parts of a generated file.
type emitter struct {
	*printer
	model *pkg
	extra map[string]func() // functions for the end of the file, by name
}

// record writes all that a persistable type has.
func (e *emitter) record(r *record) {
	e.constructor(r)
	e.store(r)
	for i, d := range r.indexes {
		for _, m := range indexMethods(d) {
			e.indexMethod(r, d, i, m)
		}
	}
	if len(r.indexes) > 0 {
		e.fieldsVar(r)
	}
	e.schema(r)
}

// message writes the codec of a struct.
func (e *emitter) message(m *message) {
	e.encoder(m)
	e.decoder(m)
	e.known(m)
}
