// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"cmp"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/source"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// subject is the package that code is generated for, with the faults that were found in it.
type subject struct {
	*diagnostic.List
	loaded *source.Package
	pkg    *model.Package
}

// isOutside reports whether p is not the package that is generated for.
func (s *subject) isOutside(p *types.Package) bool { return p != nil && p.Path() != s.pkg.Path }

// stableName is the Go name of a type, with the import path if it is of another
// package. Names are words of persist.lock.
func (s *subject) stableName(named *types.Named) string {
	name := types.TypeString(named, func(p *types.Package) string {
		if s.isOutside(p) {
			return p.Path()
		}
		return ""
	})
	return strings.ReplaceAll(name, " ", "")
}

// typeText is a type as the package's own source would write it.
func (s *subject) typeText(t types.Type) string {
	return types.TypeString(t, types.RelativeTo(s.pkg.Types))
}

// describePosition is a position for use inside a message.
func (s *subject) describePosition(at token.Position) string {
	at.Filename = s.Relative(at.Filename)
	return at.String()
}

// checkIndexes checks a record's indexes against each other.
func (s *subject) checkIndexes(r *model.Record) {
	byName, byFields := map[string]*model.Index{}, map[string]*model.Index{}
	var sound []*model.Index
	for _, d := range r.Indexes {
		fields := d.Subject()
		switch first := byFields[d.Identity()]; {
		case first != nil && d.Kind != model.Value:
			s.Add(d.At, r.GoName, "duplicate %s; the first is at %s", fields, s.describePosition(first.At))
			continue
		case first != nil && first.Unique != d.Unique:
			s.Add(d.At, r.GoName, "an index and a unique index on %s (the first is at %s); remove the one that is not unique, because a unique index serves queries too", fields, s.describePosition(first.At))
			continue
		case first != nil:
			s.Add(d.At, r.GoName, "duplicate index on %s; the first is at %s", fields, s.describePosition(first.At))
			continue
		}
		byFields[d.Identity()] = d
		if first := byName[d.Name]; first != nil {
			s.Add(d.At, r.GoName, "duplicate index name %s; the first is at %s; choose another with name=", d.Name, s.describePosition(first.At))
			continue
		}
		byName[d.Name] = d
		sound = append(sound, d)
	}
	s.checkMethods(r, sound)
}

// checkMethods reports generated methods of one store that share a name, and those that
// would hide a method which all stores have.
func (s *subject) checkMethods(r *model.Record, indexes []*model.Index) {
	byName := map[string]*model.Index{}
	inherited := s.storeMethods()
	for _, d := range indexes {
		for _, m := range model.QueryMethods(d) {
			if inherited[m.Name] {
				s.Add(d.At, r.GoName, "the method %s would be generated for the index %s, but all stores have a method of that name; %s", m.Name, d.Name, renameRemedy(d, d))
				break
			}
			if first := byName[m.Name]; first != nil && first != d {
				s.Add(d.At, r.GoName, "the method %s would be generated for the indexes %s and %s; %s",
					m.Name, first.Name, d.Name, renameRemedy(d, first))
				break
			}
			byName[m.Name] = d
		}
	}
	s.checkReferenceMethods(r, func(method string) string {
		switch d := byName[method]; {
		case inherited[method]:
			return "every store"
		case d != nil:
			return "the index " + d.Name
		}
		return ""
	})
}

// checkReferenceMethods reports methods of references that share a name with others of the store.
// taken are the others, each with what it is.
func (s *subject) checkReferenceMethods(r *model.Record, taken func(method string) (owner string)) {
	seen := map[string]*model.Reference{}
	for _, one := range r.References {
		f, name := one.Field.Steps[0], one.Method()
		owner := taken(name)
		if first := seen[name]; first != nil {
			owner = "the field " + first.Field.GoName()
		}
		if seen[name] = one; owner != "" {
			s.Add(f.OptionAt("ref"), f.Subject, "the method %s would read the records that the field refers to, but %s has a method of that name; choose another: ref=%s,as=Referred%s",
				name, owner, one.To.GoName, name)
		}
	}
}

// renameRemedy says how a method gets another name. The option name= is part of the names
// of a partial index's methods.
func renameRemedy(d, other *model.Index) string {
	if d.Written != nil || other.Written != nil {
		return "give one that has a condition another name with name="
	}
	return "rename a field, keeping its name= for the stored data"
}

// storeMethods are the methods of persistable.Store, and what generated stores have besides.
func (s *subject) storeMethods() map[string]bool {
	names := map[string]bool{"Store": true, "In": true, "With": true, "WithDeleted": true, "New": true, "TryNew": true}
	for _, imported := range s.pkg.Types.Imports() {
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

// checkPackage checks what concerns several types.
func (s *subject) checkPackage() {
	s.checkTypeNames()
	s.checkPartitions()
	s.checkNested()
	s.checkConstraints()
	s.checkScope()
}

// checkTypeNames reports two types with one name in keys.
func (s *subject) checkTypeNames() {
	byName := map[string]*model.Message{}
	for _, m := range s.pkg.Messages {
		if first := byName[m.Name]; first != nil {
			s.Add(m.At, m.GoName, "the name %s is that of the type %s already; choose another in a persistable.Type marker", m.Name, first.GoName)
			continue
		}
		byName[m.Name] = m
	}
}

// checkPartitions reports types that share a path but disagree on where in it
// a partition is.
func (s *subject) checkPartitions() {
	type use struct {
		layer string
		r     *model.Record
	}
	seen := map[string]use{}
	for _, r := range s.pkg.Records {
		path := ""
		for _, e := range r.Directory.Elements {
			if e.Field != "" {
				path += "/{}"
			} else {
				path += "/" + e.Name
			}
			first, again := seen[path]
			if !again {
				seen[path] = use{e.Layer, r}
			} else if first.layer != e.Layer {
				s.Add(r.Directory.At, r.GoName, "the directory %s must agree with that of %s (%s): one makes %s a partition, the other does not; "+
					"write layer=partition on both or on none", r.Directory, first.r.GoName, s.describePosition(first.r.Directory.At), strings.TrimPrefix(path, "/"))
				break
			}
		}
		if last := r.Directory.Elements; len(last) > 0 && last[len(last)-1].Layer != "" {
			s.Add(r.Directory.At, r.GoName, "a partition holds directories, not records; add an element after {%s}", last[len(last)-1].Field)
		}
	}
}

// checkScope reports names to generate that are already taken: by another generated
// name, or by a declaration of the package, including tests and files of other builds.
func (s *subject) checkScope() {
	owners, elsewhere := map[string]*model.Message{}, map[string]token.Position{}
	for _, one := range s.loaded.LeftOut {
		if one.Package == s.pkg.Name && source.MayMeet(one.Constraint, s.pkg.Constraint) {
			elsewhere[one.Name] = one.At
		}
	}
	s.pkg.Elsewhere = slices.Sorted(maps.Keys(elsewhere))
	for _, m := range s.pkg.Messages {
		for _, name := range m.Declarations() {
			if o := s.pkg.Types.Scope().Lookup(name); o != nil {
				s.Add(s.loaded.Position(o.Pos()), name, "persistgen generates the name %s for the type %s; rename this declaration", name, m.GoName)
			} else if at, found := elsewhere[name]; found {
				s.Add(at, name, "persistgen generates the name %s for the type %s; rename this declaration, with which the package would not compile", name, m.GoName)
			}
			if first := owners[name]; first != nil {
				s.Add(m.At, m.GoName, "persistgen would generate %s for this type and for %s; rename one of them", name, first.GoName)
			}
			owners[name] = m
		}
	}
}

// checkNested reports index options in structs that have no store, and so no indexes.
func (s *subject) checkNested() {
	for _, m := range s.pkg.Messages {
		if m.Record != nil || s.isOutside(m.Named.Obj().Pkg()) {
			continue
		}
		for _, f := range m.Fields {
			if at, ok := f.Options.Positions["default"]; ok {
				s.Add(at, f.Subject, "the option default is for fields of a persistable type; a nested struct that is absent is zero")
			}
			for _, option := range []string{schema.Created, schema.Updated, schema.Deleted} {
				if at, ok := f.Options.Positions[option]; ok {
					s.Add(at, f.Subject, "the option %s is for fields of a persistable type; the times of a record are not in a nested struct", option)
				}
			}
			if at, ok := f.Options.Positions["ref"]; ok {
				s.Add(at, f.Subject, "the option ref is for fields of a persistable type; move the field out of the nested struct")
			}
			for _, option := range []string{"index", "unique", "cover", "scatter", "withdeleted", "id"} {
				if at, ok := f.Options.Positions[option]; ok {
					s.Add(at, f.Subject, "the option %s is for fields of a persistable type; for one of a nested struct write an Index marker with its path into the outer type", option)
				}
			}
		}
	}
}

// checkConstraints takes over the build constraint of the records' files, on
// which they must agree because their generated code is one file.
func (s *subject) checkConstraints() {
	for i, r := range s.pkg.Records {
		constraint := s.loaded.Constraints[r.At.Filename]
		if i == 0 {
			s.pkg.Constraint = constraint
		} else if constraint != s.pkg.Constraint {
			first := s.pkg.Records[0]
			s.Add(r.At, r.GoName, "build constraint %s differs from that of %s (%s): %s; persistable types of one package need the same, because they share a generated file",
				quoteConstraint(constraint), first.GoName, s.describePosition(first.At), quoteConstraint(s.pkg.Constraint))
		}
	}
}

func quoteConstraint(expression string) string {
	if expression == "" {
		return "(none)"
	}
	return "(" + expression + ")"
}

// nameMessages gives each message the suffix of its functions: the Go name,
// with the package's name before it if it is another's, and a digit where that
// is not enough. It also finds the recursive ones.
func (s *subject) nameMessages() {
	slices.SortFunc(s.pkg.Messages, func(a, b *model.Message) int {
		return cmp.Or(cmp.Compare(len(types.TypeString(a.Named, nil)), len(types.TypeString(b.Named, nil))),
			cmp.Compare(types.TypeString(a.Named, nil), types.TypeString(b.Named, nil)))
	})
	taken := map[string]bool{}
	for _, local := range []bool{true, false} {
		for _, m := range s.pkg.Messages {
			if local == s.isOutside(m.Named.Obj().Pkg()) {
				continue
			}
			m.Function = model.FreeName(model.Exported(model.IdentifierOf(m.Named, s.pkg.Types)), taken)
		}
	}
	slices.SortFunc(s.pkg.Messages, func(a, b *model.Message) int { return cmp.Compare(a.Function, b.Function) })
	for _, m := range s.pkg.Messages {
		m.Recursive = model.Reaches(m, m, map[*model.Message]bool{})
	}
}
