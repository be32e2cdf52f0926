package validate

import "testing"

func TestBudget(t *testing.T) {
	var zero budget
	if !zero.spent() || zero.spend(1) {
		t.Error("the zero value gives work away")
	}
	var none *budget
	if !none.spent() || none.spend(1) || none.spend(0) {
		t.Error("no budget gives work away")
	}
	b := budget{left: 10}
	if !b.spend(4) || !b.spend(5) || b.spent() {
		t.Fatalf("what there was is refused: %+v", b)
	}
	if b.spend(2) || !b.spent() || b.spend(1) {
		t.Errorf("work beyond the budget, or after it was refused: %+v", b)
	}
	if b = (budget{left: 10}); b.spend(-1) || !b.spent() {
		t.Errorf("steps are given back: %+v", b)
	}
	if a, b := newBudget(0), newBudget(2<<20); a.spent() || b.left <= a.left {
		t.Errorf("what a call begins with: %+v, %+v", a, b)
	}
}
