"""Lane by lane: arithmetic, comparison, choice, conversion."""

from __future__ import annotations

from .words import PMODE, ROUNDING, SATURATE, text, token, vmi

# As compilers lower it: one operation for floats, one for integers, all lanes -----------------------------------------

for _name in "addf addi subf subi mulf muli divf minf maxf mini maxi andi ori xori shli shrui shrsi".split():
    vmi(_name, f"result = {_name[:-1]} of lhs and rhs, lane by lane.", "lhs:v rhs:v", "result:v")
for _name in "negf negi absf absi sqrt exp ln relu not".split():
    vmi(_name, f"result = {_name} of source, lane by lane.", "source:v", "result:v")
vmi("fma", "result = lhs * rhs + acc, rounded once.", "lhs:v rhs:v acc:v", "result:v")
for _name in ("cmpf", "cmpi"):
    vmi(_name, "Where lhs and rhs compare so.", "lhs:v rhs:v", "result:m", token("predicate", before="lhs"))
vmi("select", "true_value where the mask is on, else false_value.", "mask:m true_value:v false_value:v", "result:v")

for _name, _what in (
    ("extf", "Floats in a wider type."),
    ("sitofp", "Signed integers as floats."),
    ("extsi", "Signed integers in a wider type."),
    ("extui", "Unsigned integers in a wider type."),
    ("bitcast", "The same bits as other elements."),
    ("vinterpret_cast", "The same bits as other elements."),
):
    vmi(_name, _what, "source:v", "result:v")
for _name, _what in (
    ("truncf", "Floats in a narrower type."),
    ("fptosi", "Floats as signed integers."),
    ("fptoui", "Floats as unsigned integers."),
):
    vmi(_name, _what, "source:v", "result:v", ROUNDING, SATURATE)
vmi("trunci", "Integers in a narrower type.", "source:v", "result:v", SATURATE)

# As kernels are written: with a predicate --------------------------------------------------------------------------

for _name in "vadd vsub vmul vdiv vmin vmax vshl vshr".split():
    vmi(_name, f"result = {_name[1:]} of lhs and rhs in the active lanes.", "lhs:v rhs:v mask:m?", "result:v", PMODE)
for _name in "vand vor vxor".split():
    vmi(_name, f"result = {_name[1:]} of lhs and rhs in the active lanes.", "lhs:b rhs:b mask:m?", "result:b", PMODE)
vmi("vnot", "result = not of source in the active lanes.", "source:b mask:m?", "result:b", PMODE)
for _name in "vneg vabs vsqrt vexp vln vrelu".split():
    vmi(_name, f"result = {_name[1:]} of source in the active lanes.", "source:v mask:m?", "result:v", PMODE)
for _name in "vadds vmuls vmaxs vmins vshls vshrs".split():
    vmi(_name, f"result = {_name[1:-1]} of src and a number.", "src:v scalar:s mask:m", "result:v", PMODE)
vmi("vaddc", "Sum and carry out.", "lhs:v rhs:v mask:m", "result:v carry:m")
vmi("vaddcs", "Sum with a carry in, and carry out.", "lhs:v rhs:v carry_in:m mask:m", "result:v carry:m")
vmi("vcmp", "Where lhs and rhs compare so.", "lhs:v rhs:v seed:m", "result:m", text("cmp"), PMODE)
vmi("vcmps", "Where src and a number compare so.", "src:v scalar:s seed:m", "result:m", text("cmp"), PMODE)
vmi("vsel", "true_value where the mask is on.", "mask:m true_value:v false_value:v", "result:v", PMODE)
vmi("vcvt", "Numbers in another type.", "source:v", "result:v", ROUNDING, SATURATE, PMODE)
vmi("vexpdif", "e ** (x - max).", "x:v max:v mask:m", "result:v", PMODE)
vmi("vaxpy", "x * alpha + acc.", "x:v acc:v alpha:s mask:m", "result:v", PMODE)
vmi("vlrelu", "x where it is positive, else x * slope.", "x:v slope:s mask:m", "result:v", PMODE)
vmi("vprelu", "x where it is positive, else x * alpha.", "x:v alpha:v mask:m", "result:v", PMODE)
vmi("vmull", "Low and high half of a product.", "a:v b:v mask:m", "low:v high:v", PMODE)
vmi("vmula", "acc + lhs * rhs.", "acc:v lhs:v rhs:v mask:m?", "result:v", PMODE)
