// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// TestExplainUnfinished: the suggested command names the tenant, in the quotes of a shell.
func TestExplainUnfinished(t *testing.T) {
	at := address{[]string{"two types"}, "a/b"}
	if err := at.explain(t.Context(), nil, tenants.ErrUnfinished); !strings.HasSuffix(err.Error(), `: that is, kazahana tenant abandon 'two types/a\/b'`) {
		t.Error(err)
	}
}
