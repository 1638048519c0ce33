template <typename... Ts>
static void scale(Ts... values) {
    ptokit_called("scale.pto:scale", values...);
}
