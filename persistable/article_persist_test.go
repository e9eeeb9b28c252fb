// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

func NewArticle(literal Article) *Article {
	persistimpl.SetID(&articleSchema, &literal)
	return &literal
}

type ArticleStore struct {
	persistable.Store[*Article, string]
}

// Feed returns the changes of the records in this directory.
func (s *ArticleStore) Feed() *persistable.Feed[*Article, string] {
	return persistable.FeedOf(&s.Store)
}

func ArticleStoreOf(db *persistable.DB) *ArticleStore {
	return &ArticleStore{persistimpl.NewStore[*Article, string](db, &articleSchema)}
}

func (s *ArticleStore) In(tx persistable.Tx) *ArticleStore { return &ArticleStore{s.Store.In(tx)} }

func (s *ArticleStore) BySectionSlug(ctx context.Context, section, slug string) (*Article, error) {
	k := persistimpl.AppendString(nil, section)
	k = persistimpl.AppendString(k, slug)
	return persistimpl.Unique(ctx, &s.Store, 0, k)
}

func (s *ArticleStore) BySectionThenSlug(section string) *persistable.RangeQuery[*Article, string] {
	return (*persistable.RangeQuery[*Article, string])(persistimpl.Range(persistimpl.Source(&s.Store), 0, persistimpl.AppendString(nil, section), persistimpl.AppendString[string]))
}

func (s *ArticleStore) BySectionPublished(section string) *persistable.RangeQuery[*Article, time.Time] {
	return (*persistable.RangeQuery[*Article, time.Time])(persistimpl.Range(persistimpl.Source(&s.Store), 1, persistimpl.AppendString(nil, section), persistimpl.AppendTime))
}

func (s *ArticleStore) ByISBN(ctx context.Context, isbn *string) (*Article, error) {
	return persistimpl.Unique(ctx, &s.Store, 2, persistimpl.AppendNullable(nil, isbn, persistimpl.AppendString[string]))
}

func (s *ArticleStore) ByEditor(editor *string) *persistable.Query[*Article] {
	return persistimpl.Query(&s.Store, 3, persistimpl.AppendNullable(nil, editor, persistimpl.AppendString[string]))
}

func (s *ArticleStore) OrderedByEditor() *persistable.RangeQuery[*Article, *string] {
	return (*persistable.RangeQuery[*Article, *string])(persistimpl.Range(persistimpl.Source(&s.Store), 3, nil, persistimpl.Nullable(persistimpl.AppendString[string])))
}

func (s *ArticleStore) ByTags(tag string) *persistable.Query[*Article] {
	return persistimpl.Query(&s.Store, 4, persistimpl.AppendString(nil, tag))
}

func (s *ArticleStore) OrderedByTags() *persistable.RangeQuery[*Article, string] {
	return (*persistable.RangeQuery[*Article, string])(persistimpl.Range(persistimpl.Source(&s.Store), 4, nil, persistimpl.AppendString[string]))
}

func (s *ArticleStore) OrderedByPublished() *persistable.RangeQuery[*Article, time.Time] {
	return (*persistable.RangeQuery[*Article, time.Time])(persistimpl.Range(persistimpl.Source(&s.Store), 5, nil, persistimpl.AppendTime))
}

var ArticleFields = struct {
	ID        persistable.Field[*Article, string]
	Section   persistable.Field[*Article, string]
	Slug      persistable.Field[*Article, string]
	Published persistable.Field[*Article, time.Time]
	ISBN      persistable.Field[*Article, *string]
	Editor    persistable.Field[*Article, *string]
	Tags      persistable.Field[*Article, string]
	Body      persistable.Field[*Article, []byte]
}{
	ID:        persistable.Field[*Article, string](persistimpl.NewField("ID", persistimpl.AppendString[string])),
	Section:   persistable.Field[*Article, string](persistimpl.NewField("Section", persistimpl.AppendString[string])),
	Slug:      persistable.Field[*Article, string](persistimpl.NewField("Slug", persistimpl.AppendString[string])),
	Published: persistable.Field[*Article, time.Time](persistimpl.NewField("Published", persistimpl.AppendTime)),
	ISBN:      persistable.Field[*Article, *string](persistimpl.NewField("ISBN", persistimpl.Nullable(persistimpl.AppendString[string]))),
	Editor:    persistable.Field[*Article, *string](persistimpl.NewField("Editor", persistimpl.Nullable(persistimpl.AppendString[string]))),
	Tags:      persistable.Field[*Article, string](persistimpl.NewField("Tags", persistimpl.AppendString[string])),
	Body:      persistable.Field[*Article, []byte](persistimpl.NewField("Body", persistimpl.AppendBytes[[]byte])),
}

var articleSchema = persistimpl.Schema{
	Type:      "Article",
	Directory: []persistimpl.PathElement{{Name: "articles"}},
	Lock: `type Article
	origin example.com/shop
	id string
	directory "articles"
	field 1 ID string
	field 2 Section string
	field 3 Slug string
	field 4 ISBN *string
	field 5 Editor *string
	field 6 Tags []string
	field 7 Published time
	field 8 Body bytes
`,
	IDs:    persistimpl.ULIDStrings,
	ID:     func(v any) any { return &v.(*Article).ID },
	Encode: func(b []byte, v any) ([]byte, error) { return appendArticle(b, v.(*Article)) },
	Decode: func(b []byte, s *wire.Strings) (any, error) {
		v := new(Article)
		return v, decodeArticle(b, v, s)
	},
	Known: &articleKnown,
	Indexes: []index.Definition{
		{Name: "Article_Section_Slug", Fields: []string{"Section", "Slug"}, Unique: true, Signature: "string,string"},
		{Name: "Article_Section_Published", Fields: []string{"Section", "Published"}, Cover: true, Signature: "string,time"},
		{Name: "Article_ISBN", Fields: []string{"ISBN"}, Unique: true, Cover: true, Sparse: []string{"ISBN"}, Signature: "*string"},
		{Name: "Article_Editor", Fields: []string{"Editor"}, Signature: "*string"},
		{Name: "Article_Tags", Fields: []string{"Tags"}, Sparse: []string{"Tags"}, Signature: "[]string"},
		{Name: "Article_Published", Fields: []string{"Published"}, Signature: "time"},
	},
	Entries: func(i int, e *index.Entries, record any) {
		v := record.(*Article)
		switch i {
		case 0:
			k := e.Begin()
			k = persistimpl.AppendString(k, v.Section)
			k = persistimpl.AppendString(k, v.Slug)
			e.End(k)
		case 1:
			k := e.Begin()
			k = persistimpl.AppendString(k, v.Section)
			k = persistimpl.AppendTime(k, v.Published)
			e.End(k)
		case 2:
			if v.ISBN == nil {
				return
			}
			e.End(persistimpl.AppendString(e.Begin(), *v.ISBN))
		case 3:
			e.End(persistimpl.AppendNullable(e.Begin(), v.Editor, persistimpl.AppendString[string]))
		case 4:
			for i := range v.Tags {
				e.End(persistimpl.AppendString(e.Begin(), v.Tags[i]))
			}
		case 5:
			e.End(persistimpl.AppendTime(e.Begin(), v.Published))
		}
	},
	Values: func(field string, b []byte, record any) []byte {
		v := record.(*Article)
		switch field {
		case "ID":
			b = persistimpl.AppendString(b, v.ID)
		case "Section":
			b = persistimpl.AppendString(b, v.Section)
		case "Slug":
			b = persistimpl.AppendString(b, v.Slug)
		case "ISBN":
			b = persistimpl.AppendNullable(b, v.ISBN, persistimpl.AppendString[string])
		case "Editor":
			b = persistimpl.AppendNullable(b, v.Editor, persistimpl.AppendString[string])
		case "Tags":
			for i := range v.Tags {
				b = persistimpl.AppendString(b, v.Tags[i])
			}
		case "Published":
			b = persistimpl.AppendTime(b, v.Published)
		case "Body":
			b = persistimpl.AppendBytes(b, v.Body)
		}
		return b
	},
}

var articleKnown = wire.FieldSet{Numbers: []int32{1, 2, 3, 4, 5, 6, 7, 8}}

func appendArticle(b []byte, v *Article) ([]byte, error) {
	if v.ID != "" {
		b = append(b, 0x0a)
		b = wire.AppendString(b, v.ID)
	}
	if v.Section != "" {
		b = append(b, 0x12)
		b = wire.AppendString(b, v.Section)
	}
	if v.Slug != "" {
		b = append(b, 0x1a)
		b = wire.AppendString(b, v.Slug)
	}
	if v.ISBN != nil {
		b = append(b, 0x22)
		b = wire.AppendString(b, *v.ISBN)
	}
	if v.Editor != nil {
		b = append(b, 0x2a)
		b = wire.AppendString(b, *v.Editor)
	}
	for _, tag := range v.Tags {
		b = append(b, 0x32)
		b = wire.AppendString(b, tag)
	}
	if !v.Published.IsZero() {
		b = append(b, 0x3a)
		b = wire.AppendTimestamp(b, v.Published)
	}
	if len(v.Body) > 0 {
		b = append(b, 0x42)
		b = wire.AppendBytes(b, v.Body)
	}
	return b, nil
}

func decodeArticle(b []byte, v *Article, s *wire.Strings) error {
	r := s.NewReader(b)
	for r.Next() {
		switch r.Field() {
		case 1:
			v.ID = r.String()
		case 2:
			v.Section = r.String()
		case 3:
			v.Slug = r.String()
		case 4:
			s := r.String()
			v.ISBN = &s
		case 5:
			s := r.String()
			v.Editor = &s
		case 6:
			v.Tags = append(v.Tags, r.String())
		case 7:
			v.Published = r.Timestamp()
		case 8:
			v.Body = r.Bytes()
		default:
			r.Skip()
		}
	}
	return r.Err()
}
