package budget

import "testing"

func TestBudget(t *testing.T) {
	t.Parallel()
	var zero Budget
	if !zero.Spent() || zero.Spend(1) {
		t.Error("the zero value gives work away")
	}
	var none *Budget
	if !none.Spent() || none.Spend(1) || none.Spend(0) {
		t.Error("no budget gives work away")
	}
	b := Budget{left: 10}
	if !b.Spend(4) || !b.Spend(5) || b.Spent() {
		t.Fatalf("what there was is refused: %+v", b)
	}
	if b.Spend(2) || !b.Spent() || b.Spend(1) {
		t.Errorf("work beyond the budget, or after it was refused: %+v", b)
	}
	if b = (Budget{left: 10}); b.Spend(-1) || !b.Spent() {
		t.Errorf("steps are given back: %+v", b)
	}
	if a, b := New(0), New(2<<20); a.Spent() || b.left <= a.left {
		t.Errorf("what a call begins with: %+v, %+v", a, b)
	}
}
