// SPDX-License-Identifier: Apache-2.0

package persistable

import "context"

// verify compares every record with its entries, and every entry with its record.
func (s source) verify(ctx context.Context, o VerifyOptions) (r Report, err error) {
	ctx, op := s.begin(ctx, "Indexes.Verify", byID)
	defer op.finish(&err)
	if err := s.mayBuild(); err != nil {
		return Report{}, err
	}
	if err := o.Validate(); err != nil {
		return Report{}, err
	}
	v := verifier{source: &s, options: o, index: byID}
	if err := v.resume(o.Token); err != nil {
		return Report{}, err
	}
	err = v.run(ctx)
	if err != nil {
		v.report.Next = v.token()
	}
	return v.report, err
}
