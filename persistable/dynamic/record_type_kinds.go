// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/reindex"
)

// checkKinds returns an error if an index has keys of other kinds than conditions on its
// fields would have: it was built by programs from before a field could be null, or after
// it could not any more. Such an index is maintained as those programs do, and not read.
func (t *recordType) checkKinds(d *index.Definition) error {
	for i, name := range d.Fields {
		p, err := t.body.Path(name)
		if err != nil {
			return err
		}
		if have := d.Kinds()[i]; have != p.KeyKind() {
			return fmt.Errorf("the index has the field %s as %s, and the schema as %s", name, have, p.KeyKind())
		}
	}
	return nil
}

// reasonOf returns why an index has no program.
func reasonOf(err error) string {
	var refused *reindex.Error
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return err.Error()
}
