// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/kinds"
)

// TestFolded: conditions and lookups without the Go code of the type fold the fields that its
// indexes have folded.
func TestFolded(t *testing.T) {
	db := must[*persistable.DB](t)(persistable.Open(ctx, enginetest.Open(t)))
	t.Cleanup(func() { check(t, db.Close()) })
	generated := kinds.EveryStoreOf(db, "g", 5)
	for i, mail := range []string{"Ada@Example.com", "ada@example.com", "BOB@example.com"} {
		v := &kinds.Every{Group: "g", Number: 5, Mail: mail, Text: mail, Mails: []string{mail, strings.ToUpper(mail)}}
		if i == 0 {
			v.PtrMail = &v.Mail
		}
		check(t, generated.CreateWithID(ctx, idgen.ID(i+1), v))
	}
	s := open(t, db, "groups", "g", "5", "every")
	ids := func(q *persistable.Query[*dynamic.Record]) (text string) {
		for r, err := range q.All(ctx) {
			check(t, err)
			text += r.ID().String()
		}
		return text
	}
	for where, want := range map[string]string{
		`Mail = "ADA@EXAMPLE.COM"`:                              "12",
		`Mail in ("ADA@EXAMPLE.COM", "bOb@example.com")`:        "123",
		`Mail prefix "B"`:                                       "3",
		`Mail >= "B"`:                                           "3",
		`Mail != "ada@EXAMPLE.com"`:                             "3",
		`PtrMail = "ADA@example.com"`:                           "1",
		`PtrMail = null`:                                        "23",
		`Mails = "ADA@example.com"`:                             "12",
		`Mail = "ADA@EXAMPLE.COM" and Text = "ada@example.com"`: "2", // not folded
	} {
		q := must[*persistable.Query[*dynamic.Record]](t)(s.AllowScan().Find(must[persistable.Condition[*dynamic.Record]](t)(s.Where(where))))
		if got := ids(q); got != want {
			t.Errorf("%s: %s, want %s", where, got, want)
		}
	}
	for name, want := range map[string]string{"Every_Mail_Inner.Number": "12", "Every_Mails": "12"} {
		if got := ids(must[*persistable.Query[*dynamic.Record]](t)(s.ByIndex(name, "aDa@example.com"))); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}

	// Writes without the Go code write the same keys.
	id := must[dynamic.ID](t)(s.ParseID("4"))
	r := must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"ID": "4", "Group": "g", "Number": 5, "PtrMail": "ADA@EXAMPLE.com"}`)))
	var taken *persistable.UniqueError
	if err := s.CreateWithID(ctx, id, r); !errors.As(err, &taken) {
		t.Errorf("the same address in other cases: %v", err)
	}
	check(t, s.Delete(ctx, must[dynamic.ID](t)(s.ParseID("1"))))
	check(t, s.CreateWithID(ctx, id, r))
	if report := must[persistable.Report](t)(generated.Indexes().Verify(ctx, persistable.VerifyOptions{})); len(report.Faults) > 0 {
		t.Errorf("%+v", report.Faults)
	}
}

// TestFoldedLater: an index that has the field as it is written, which the store keeps for older
// programs, is not read by conditions that fold.
func TestFoldedLater(t *testing.T) {
	db := must[*persistable.DB](t)(persistable.Open(ctx, enginetest.Open(t)))
	t.Cleanup(func() { check(t, db.Close()) })
	check(t, kinds.EveryStoreOf(db, "g", 5).CreateWithID(ctx, 1, &kinds.Every{Group: "g", Number: 5, Mail: "Ada"}))
	plain := index.Definition{Name: "Every_old", Fields: []string{"Mail"}, Signature: "string"}
	changeHeader(t, db, func(c *format.Catalog) { c.SetState(&plain, index.Readable) }, "groups", "g", "5", "every")
	s := open(t, db, "groups", "g", "5", "every")
	for _, x := range s.Schema().Indexes {
		if x.Name == "Every_old" && !strings.Contains(x.Foreign, "as it is written") {
			t.Errorf("the old index is read: %q", x.Foreign)
		}
	}
	q := must[*persistable.Query[*dynamic.Record]](t)(s.Find(must[persistable.Condition[*dynamic.Record]](t)(s.Where(`Mail = "ADA"`))))
	if n := must[int](t)(q.Count(ctx)); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
}
