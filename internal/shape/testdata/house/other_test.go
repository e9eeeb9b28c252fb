// SPDX-License-Identifier: Apache-2.0

package house

type failing struct{}

func (l *lockFile) ofTest() {}
